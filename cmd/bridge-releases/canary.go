package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// result has the rows of TestCanary that a release passed and failed, by the kind of conversation.
type result struct {
	passed  map[string]int
	failed  map[string][]string
	refused string // why the bridge enforces nothing with this release; "" if it does
}

// try runs TestCanary with a release.
func (r *installed) try(ctx context.Context, root string) (row, error) {
	test := exec.CommandContext(ctx, "go", "test", "-vet=off", "-json", "-count=1", "-run", "^TestCanary$", "./cmd/codex-bridge/e2e")
	test.Dir = root
	test.Env = append(os.Environ(), "CODEX_BRIDGE_E2E_CODEX="+r.native)
	test.Stderr = os.Stderr
	out, err := test.Output()
	got := parse(out)
	if len(got.passed)+len(got.failed) == 0 {
		return row{}, fmt.Errorf("go test: %w\n%s", err, tail(string(out)))
	}
	return row{r.version, got.cells()}, nil
}

var refusal = regexp.MustCompile(`codex is \S+; (\S+ or later) is needed`)

// parse reads the output of go test -json.
func parse(out []byte) result {
	r := result{passed: make(map[string]int), failed: make(map[string][]string)}
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

func (r result) cells() string {
	return r.cell("codex") + " | " + r.cell("plain") + " | " + r.cell("enforced")
}
