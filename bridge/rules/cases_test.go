package rules_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

var update = flag.Bool("update", false, "write the decisions into testdata/rules; read the diff")

var dirs = rules.Dirs{Workspace: "/code/proj", Home: "/home/ada", Cwd: "/code/proj", Readings: func(path string) ([]string, error) { return []string{filepath.Clean(path)}, nil }}

// TestCases runs testdata/rules. A file has configurations (managed, user, workspace) and cases. A
// case is a question and its answer on two lines:
//
//	shell> a command line for bash, inside the sandbox
//	sh>, zsh>, any> one for another shell, or for an unknown one
//	escaped> one that leaves the sandbox; unknown> one that may leave it
//	quoted> a command line as a Go string
//	argv> ["a", "vector"]
//	file> paths, separated by spaces
//	escaped-file> the same, outside the sandbox
//	mcp> SERVER TOOL
//	tool> a dynamic tool
//	DECISION RULE for PART because WHY
//
// Lines that begin with # and empty lines are kept.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("../../testdata/rules/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	total := 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			set := load(t, archive)
			for i := range archive.Files {
				f := &archive.Files[i]
				if f.Name != "cases" {
					continue
				}
				got, n := answer(t, set, string(f.Data))
				total += n
				if diff := cmp.Diff(strings.Split(string(f.Data), "\n"), strings.Split(got, "\n")); diff != "" && !*update {
					t.Errorf("(-want +got)\n%s", diff)
				}
				f.Data = []byte(got)
			}
		})
		if *update {
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if total < 150 {
		t.Errorf("only %d cases", total)
	}
}

func load(t *testing.T, archive *txtar.Archive) *rules.Set {
	t.Helper()
	dir := t.TempDir()
	opts := config.Options{Workspace: dir, Home: dirs.Home}
	for _, f := range archive.Files {
		name := filepath.Join(dir, f.Name+".toml")
		switch f.Name {
		case "managed":
			opts.Managed = name
		case "user":
			opts.User = name
		case "workspace":
			name = filepath.Join(dir, config.WorkspaceFile)
		case "cases":
			continue
		default:
			t.Fatalf("unknown file %s", f.Name)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(opts)
	if err != nil {
		t.Fatal(err)
	}
	set, err := rules.New(c.Policy.RuleLayers())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func answer(t *testing.T, set *rules.Set, text string) (string, int) {
	t.Helper()
	var out strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line)
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		kind, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "> ")
		if !ok {
			t.Fatalf("not a case: %q", line)
		}
		var m rules.Match
		switch kind {
		case "shell":
			m = set.Shell(rest, "bash", rules.Sandboxed, dirs)
		case "sh", "zsh":
			m = set.Shell(rest, kind, rules.Sandboxed, dirs)
		case "any":
			m = set.Shell(rest, "", rules.Sandboxed, dirs)
		case "escaped":
			m = set.Shell(rest, "bash", rules.Escalated, dirs)
		case "unknown":
			m = set.Shell(rest, "bash", rules.EscalationUnknown, dirs)
		case "quoted":
			command, err := strconv.Unquote(rest)
			if err != nil {
				t.Fatal(rest, err)
			}
			m = set.Shell(command, "bash", rules.Sandboxed, dirs)
		case "argv":
			var argv []string
			if err := json.Unmarshal([]byte(rest), &argv); err != nil {
				t.Fatal(rest, err)
			}
			m = set.Argv(argv, rules.Sandboxed, dirs)
		case "file", "escaped-file":
			e := rules.Sandboxed
			if kind == "escaped-file" {
				e = rules.Escalated
			}
			var changes []rules.Change
			for path := range strings.FieldsSeq(rest) {
				from, to, _ := strings.Cut(path, "=>")
				changes = append(changes, rules.Change{Path: from, To: to})
			}
			m = set.Files(changes, e, dirs)
		case "mcp":
			server, tool, _ := strings.Cut(rest, " ")
			m = set.MCP(server, tool)
		case "tool":
			m = set.Tool(rest)
		default:
			t.Fatalf("unknown kind %s", kind)
		}
		out.WriteString("  " + printed(m) + "\n")
	}
	return out.String(), n
}

func printed(m rules.Match) string {
	s := m.Decision.String()
	if m.Rule != nil {
		for _, key := range []string{m.Rule.Tool, m.Rule.Command, m.Rule.Path} {
			if key != "" {
				s += " " + key
			}
		}
	}
	if m.Part != "" {
		s += fmt.Sprintf(" for %q", m.Part)
	}
	if m.Why != "" {
		s += " because " + m.Why
	}
	return s
}
