// Command bridge-releases runs TestCanary with the last releases of Codex on npm, and writes
// docs/internals/releases.md.
//
//	go run ./cmd/bridge-releases [-root DIR] [-last 14]
//
// It needs npm and the network, and some 300 MB for one release at a time.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"codex-bridge.example/bridge/codex"
)

func main() {
	root := flag.String("root", ".", "the repository")
	last := flag.Int("last", 14, "how many releases")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *root, *last)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bridge-releases:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, last int) error {
	versions, err := stableVersions(ctx)
	if err != nil {
		return err
	}
	versions = versions[max(0, len(versions)-last):]
	slices.Reverse(versions)
	results := make([]result, len(versions))
	for i, version := range versions {
		if results[i], err = try(ctx, root, version); err != nil {
			return fmt.Errorf("codex %s: %w", version, err)
		}
		fmt.Println(results[i].row())
	}
	return os.WriteFile(filepath.Join(root, "docs", "internals", "releases.md"), page(results), 0o644)
}

var stable = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// stableVersions returns the releases on npm without previews, the oldest first.
func stableVersions(ctx context.Context) ([]string, error) {
	text, err := exec.CommandContext(ctx, "npm", "view", "@openai/codex", "versions", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("npm view: %w", err)
	}
	var all []string
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("npm view: %w", err)
	}
	all = slices.DeleteFunc(all, func(version string) bool { return !stable.MatchString(version) })
	slices.SortFunc(all, codex.CompareVersions)
	return all, nil
}

// result has the rows of TestCanary that a release passed and failed, by the kind of conversation.
type result struct {
	version string
	passed  map[string]int
	failed  map[string][]string
	refused string // why the bridge enforces nothing with this release; "" if it does
}

// try installs a release, runs TestCanary with it, and removes it.
func try(ctx context.Context, root, version string) (result, error) {
	tools, err := filepath.Abs(filepath.Join(root, ".tools")) // the bridge starts no program in a temporary folder
	if err != nil {
		return result{}, err
	}
	folder, err := os.MkdirTemp(tools, "codex-release-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(folder)
	install := exec.CommandContext(ctx, "npm", "install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", "@openai/codex@"+version)
	if out, err := install.CombinedOutput(); err != nil {
		return result{}, fmt.Errorf("npm install: %w\n%s", err, out)
	}
	native, err := filepath.Glob(filepath.Join(folder, "node_modules", "@openai", "codex-*", "vendor", "*", "*", "codex"))
	if err != nil {
		return result{}, err
	}
	if len(native) != 1 {
		return result{}, fmt.Errorf("the package has %d programs", len(native))
	}
	test := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-run", "^TestCanary$", "./cmd/codex-bridge/e2e")
	test.Dir = root
	test.Env = append(os.Environ(), "CODEX_BRIDGE_E2E_CODEX="+native[0])
	test.Stderr = os.Stderr
	out, err := test.Output()
	r := parse(version, out)
	if len(r.passed)+len(r.failed) == 0 {
		return result{}, fmt.Errorf("go test: %w\n%s", err, out)
	}
	return r, nil
}

var refusal = regexp.MustCompile(`codex is \S+; (\S+ or later) is needed`)

// parse reads the output of go test -json.
func parse(version string, out []byte) result {
	r := result{version: version, passed: make(map[string]int), failed: make(map[string][]string)}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue
		}
		if m := refusal.FindStringSubmatch(event.Output); m != nil {
			r.refused = m[1]
		}
		names := strings.SplitN(event.Test, "/", 3)
		if len(names) != 3 {
			continue
		}
		switch kind := names[1]; event.Action {
		case "pass":
			r.passed[kind]++
		case "fail":
			r.failed[kind] = append(r.failed[kind], strings.ReplaceAll(names[2], "_", " "))
		}
	}
	return r
}

// cell describes the conversations of a kind.
func (r result) cell(kind string) string {
	if kind == "enforced" && r.refused != "" {
		return "refused: " + r.refused + " is needed"
	}
	failed := slices.Sorted(slices.Values(r.failed[kind]))
	if len(failed) == 0 {
		return fmt.Sprintf("all %d", r.passed[kind])
	}
	return fmt.Sprintf("%d of %d; not: %s", r.passed[kind], r.passed[kind]+len(failed), strings.Join(failed, ", "))
}

func (r result) row() string { return r.version + " | " + r.cells() }

func (r result) cells() string {
	return r.cell("codex") + " | " + r.cell("plain") + " | " + r.cell("enforced")
}

const head = `# Releases of Codex

` + "`make releases`" + ` installs each of the last stable releases from npm and runs the same short conversations with it: a turn, an approval, a patch, an escalation, the sandbox, resume and fork. Under an enforced policy it also tries a deny rule, a hook that fails, full access, a command in another folder and a tool of the host. The model is a local stand-in. [TestCanary](../../cmd/codex-bridge/e2e/canary_test.go) has the rows.

Before a release that is too old, an enforced bridge answers ` + "`initialize`" + ` with an error that names the needed version (` + "`codex.min_version`" + `). Measured with 0.159 to 0.165, two things that it needs are missing. ` + "`hooks/list`" + ` takes no thread, so it does not show whether the hooks are in force. A command's hook has the thread's folder instead of the command's, so rules and protected paths miss commands with a ` + "`workdir`" + `.

[` + "`codex-bridge methods diff`" + `](../reference/cli.md#commands) compares methods, fields, enum values, hook events, requirements, features, flags, and (for Linux only) configuration keys. ` + "`--patch`" + ` prints a patch for ` + "`git apply`" + `. With a newer Codex, an enforced bridge tells the user and the decision log once for each release and state folder.

release | Codex alone | without a configuration | enforced
---|---|---|---
`

func page(results []result) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	for len(results) > 0 { // successive releases with the same results share a row
		cells, versions := results[0].cells(), []string(nil)
		for len(results) > 0 && results[0].cells() == cells {
			versions = append(versions, results[0].version)
			results = results[1:]
		}
		b.WriteString(strings.Join(versions, ", ") + " | " + cells + "\n")
	}
	return b.Bytes()
}
