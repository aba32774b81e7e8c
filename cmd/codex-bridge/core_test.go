package main

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// corePackages are the packages that say yes or no, from the bottom up. Each imports only packages before it:
// so they have no database, no network client and no format of another trade.
var corePackages = []struct{ path, why string }{
	{"rpc", "the wire: reads and changes JSON-RPC messages"},
	{"bridge/toml", "reads TOML as Codex does, or more strictly"},
	{"bridge/setting", "versions of Codex, and texts of its configuration"},
	{"bridge/display", "texts that people read"},
	{"bridge/problem", "errors in plain words"},
	{"bridge/methods", "which methods and fields there are, and what they do"},
	{"bridge/argv", "which options and commands of codex there are"},
	{"bridge/config", "the configuration"},
	{"bridge/rules", "rules for commands, files and tools"},
	{"bridge/child", "starts and ends child processes"},
	{"bridge/supervise/enter", "the first process of a Codex below the filter"},
	{"bridge/supervise", "program starts, as the kernel reports them"},
	{"bridge/codex", "starts Codex, or dials it"},
	{"bridge", "the proxy: two peers and a table of routes"},
	{"bridge/decision", "what is logged and remembered"},
	{"bridge/statefolder", "where the state is"},
	{"bridge/decisionlog", "the decision log in files of JSON lines"},
	{"bridge/mountpoint", "the mount points that protect paths"},
	{"bridge/userrules", "the user's rules for Codex"},
	{"bridge/policy", "the compiled policy, its words, and decisions about messages of clients"},
	{"bridge/policy/toolcall", "decisions about tool calls and program starts"},
	{"bridge/policy/serverrequest", "decisions about requests of Codex and their answers"},
	{"bridge/policy/reported", "checks the settings that Codex reports"},
	{"bridge/policy/replay", "decides again about what is logged"},
	{"bridge/rollout", "the settings in Codex's files of threads"},
	{"bridge/guard", "enforces the policy on a conversation"},
	{"bridge/hello", "the handshake of a client that knows the bridge"},
	{"relay/answer", "answers to Codex's questions"},
	{"relay/hook/ask", "how a hook process asks the bridge"},
	{"relay/hook", "Codex's hooks"},
	{"relay/redact", "hides secrets in texts"},
	{"relay/approvals", "answers approvals, and remembers them"},
	{"relay/handlers", "the user's programs and the question before a call"},
	{"relay/inject", "installs hooks, and checks that they are active"},
	{"relay/programs", "asks about programs that start"},
	{"cmd/internal/settings", "applies the configuration on this machine"},
	{"cmd/internal/core", "assembles the core for one Codex"},
	{coreProgram, "the program of the core alone"},
}

// coreProgram links all packages of the core, and nothing else.
const coreProgram = "cmd/codex-bridge-core"

// coreModules are the modules of others in the core.
var coreModules = map[string]string{
	"github.com/bmatcuk/doublestar/v4":   "globs of rules",
	"github.com/coder/websocket":         "dials a Codex that serves a socket",
	"github.com/creachadair/jrpc2":       "the hook socket",
	"github.com/creachadair/mds":         "of jrpc2",
	"github.com/go-json-experiment/json": "JSON without duplicate names",
	"github.com/google/jsonschema-go":    "the schema of the configuration",
	"github.com/klauspost/compress":      "Codex's compressed files of threads",
	"github.com/pelletier/go-toml/v2":    "reads TOML, with positions",
	"golang.org/x/mod":                   "compares versions",
	"golang.org/x/sync":                  "bounds how many files are read at once",
	"golang.org/x/sys":                   "system calls",
	"mvdan.cc/sh/v3":                     "parses command lines",
}

const maxCoreModules = 13

// The core links what the lists say, and nothing else. Imports point down.
func TestCoreImports(t *testing.T) {
	position := make(map[string]int)
	args := []string{"list", "-deps", "-f", `{{if .Module}}{{.ImportPath}} {{.Module.Path}} {{join .Imports " "}}{{end}}`}
	for i, p := range corePackages {
		position[p.path] = i
		args = append(args, ownModule+p.path)
	}
	modules := make(map[string]bool)
	for system := range strings.FieldsSeq("linux darwin windows") {
		for _, fields := range goList(t, system, args) {
			if !strings.HasPrefix(fields[0]+"/", ownModule) {
				modules[fields[1]] = true
				continue
			}
			path := strings.TrimPrefix(fields[0], ownModule)
			at, known := position[path]
			if !known {
				t.Errorf("%s is in the core. If it has to be, give it a line in corePackages with the reason", path)
				continue
			}
			for _, imported := range fields[2:] {
				if name, own := strings.CutPrefix(imported, ownModule); own && position[name] >= at {
					t.Errorf("%s imports %s, which is not below it", path, name)
				}
			}
		}
	}
	if want := slices.Sorted(maps.Keys(coreModules)); !slices.Equal(slices.Sorted(maps.Keys(modules)), want) {
		t.Errorf("the modules of the core are %v, not those of coreModules", slices.Sorted(maps.Keys(modules)))
	}
	if len(coreModules) > maxCoreModules {
		t.Errorf("the core has %d modules of others, more than %d", len(coreModules), maxCoreModules)
	}
}

// The program of the core has each package of the core.
func TestCoreProgramIsTheCore(t *testing.T) {
	linked := make(map[string]bool)
	for _, fields := range goList(t, "linux", []string{"list", "-deps", "-f", "{{.ImportPath}} -", ownModule + coreProgram}) {
		linked[fields[0]] = true
	}
	for _, p := range corePackages {
		if !linked[ownModule+p.path] {
			t.Errorf("%s is no part of %s", p.path, coreProgram)
		}
	}
}

// All code reads TOML through package toml, which refuses what Codex refuses.
func TestOnePackageReadsTOML(t *testing.T) {
	for _, fields := range goList(t, "linux", []string{"list", "-f", `{{.ImportPath}} - {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "../../..."}) {
		for _, imported := range fields[2:] {
			if fields[0] != ownModule+"bridge/toml" && strings.Contains(strings.ToLower(imported), "/go-toml") || strings.Contains(imported, "BurntSushi/toml") {
				t.Errorf("%s imports %s: use package toml", fields[0], imported)
			}
		}
	}
}

// layers are the folders of the program, from the bottom up. A package may import packages of its own layer and
// below. Each is a prefix of paths; the longest one counts.
var layers = [][]string{
	{"rpc"},
	{"bridge"},
	{"relay/answer", "relay/hook", "relay/redact", "relay/approvals", "relay/handlers", "relay/inject", "relay/programs"},
	{"bridge/store", "bridge/bundle"},
	{"relay", "lifecycle", "serve"},
	{"cmd/internal"},
	{"cmd/codex-bridge/internal"},
	{"cmd", "packaging"},
}

func TestImportsPointDown(t *testing.T) {
	layerOf := func(path string) (at int) {
		longest := 0
		for i, layer := range layers {
			for _, prefix := range layer {
				if len(prefix) > longest && strings.HasPrefix(path+"/", prefix+"/") {
					at, longest = i, len(prefix)
				}
			}
		}
		if longest == 0 {
			t.Errorf("%s is in no layer", path)
		}
		return at
	}
	found := 0
	for _, fields := range goList(t, "linux", []string{"list", "-f", `{{.ImportPath}} - {{join .Imports " "}}`, "../../..."}) {
		path := strings.TrimPrefix(fields[0], ownModule)
		for _, imported := range fields[2:] {
			if name, own := strings.CutPrefix(imported, ownModule); own {
				found++
				if layerOf(name) > layerOf(path) {
					t.Errorf("%s imports %s, which is in a higher layer", path, name)
				}
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d imports are known", found)
	}
}

// goList returns the fields of each line that go list prints.
func goList(t *testing.T, system string, args []string) (lines [][]string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", args...)
	list.Env = append(list.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(fmt.Errorf("go %s: %w", strings.Join(args, " "), err))
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 1 {
			lines = append(lines, fields)
		}
	}
	return lines
}
