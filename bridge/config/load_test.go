package config_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/toml"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "rewrite the expected text in testdata/config")

const testdata = "../../testdata/config"

// load reads one file as the user's.
func load(file string) (*config.Config, error) {
	return config.Load(config.Options{User: file, Home: "/home/someone"})
}

// write makes a file in a fresh folder.
func write(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Without a file nothing is restricted, nothing is hooked, nothing remembered.
func TestLoadWithoutFilesReturnsDefaults(t *testing.T) {
	c, err := config.Load(config.Options{
		Managed: filepath.Join(t.TempDir(), "none.toml"), User: filepath.Join(t.TempDir(), "none", "none.toml"), Workspace: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), c, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
		t.Error(diff)
	}
	if c.Policy.Mode != config.Off || c.Hooks.On || c.Approvals.Remember != "off" || c.Policy.Models != nil {
		t.Errorf("not the defaults of the contract: %+v", c)
	}
	if n := c.Unenforced(); len(n) != 0 {
		t.Errorf("notices without a file: %v", n)
	}
}

// The example of the contract shows every default, so that loading it must
// change only what the contract says a missing key is without.
func TestLoadReadsEachKeyOfTheContract(t *testing.T) {
	c, err := load(testdata + "/valid/contract.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Codex.Args, want.Codex.Env = []string{}, nil
	want.Policy.Mode = config.Enforce
	want.Policy.Models = []string{"gpt-5*", "gpt-6*"}
	want.Policy.Methods = map[string]string{"thread/shellCommand": "deny"}
	want.Policy.Rules = []config.Rule{{Tool: "shell", Command: "git push **", Path: "${workspace}/**", Decision: "deny", Reason: "Pushing is done by people."}}
	want.Approvals.Remember = "session"
	want.Hooks.On = true
	want.Thread.On = true
	dir, err := filepath.Abs(testdata + "/valid")
	if err != nil {
		t.Fatal(err)
	}
	seconds := func(s string) config.Duration { d, _ := config.ParseDuration(s); return d }
	want.Hooks.Handlers = []config.Handler{{Event: "stop", Command: []string{filepath.Join(dir, "scripts/before-finish.sh")}, Timeout: seconds("5s")}}
	want.Tools = map[string]config.Tool{"lookup_ticket": {
		Description: "Fetch a ticket by id",
		InputSchema: map[string]any{"type": "object", "properties": map[string]any{"id": map[string]any{"type": "string"}}, "required": []any{"id"}},
		Command:     []string{filepath.Join(dir, "tools/ticket")},
		Timeout:     seconds("30s"),
		Loading:     config.Direct,
	}}
	want.ToolServers = map[string]config.ToolServer{"issues": {Command: []string{"my-mcp-server"}, Protocol: "mcp", Namespace: "issues", Loading: config.Direct}}
	want.ACP.Agents = map[string]config.Agent{"codex": {Command: []string{"codex-acp"}}}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreUnexported(config.Config{}), cmpopts.IgnoreTypes(config.Origin{}), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestValidFilesLoadAndMatchSchema(t *testing.T) {
	for _, file := range glob(t, "valid/*.toml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c, err := load(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate(t, readTOML(t, file)); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
			if got := c.Files(); len(got) != 1 || got[0] != file {
				t.Errorf("Files() = %v", got)
			}
		})
	}
}

// Each file begins with the errors of Load, one comment line each, and
// then says what the schema makes of it.
func TestInvalidFilesGiveListedErrors(t *testing.T) {
	for _, file := range glob(t, "invalid/*.toml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, body := header(string(text))
			got := loadErrors(t, file)
			if got == "" {
				t.Fatal("Load takes it")
			}
			if strings.Contains(string(text), "\n# schema: ") {
				tree, err := toml.Values(string(text))
				switch {
				case err != nil:
					got += "# schema: not TOML\n"
				case validate(t, tree) != nil:
					got += "# schema: refuses\n"
				default:
					got += "# schema: cannot tell\n"
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				if *update && strings.Count(want, "\n") == strings.Count(got, "\n") {
					if err := os.WriteFile(file, []byte(got+body), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				t.Error(diff)
			}
		})
	}
}

// loadErrors returns the errors of Load as comment lines.
func loadErrors(t *testing.T, file string) string {
	t.Helper()
	_, err := load(file)
	if err == nil {
		return ""
	}
	var b strings.Builder
	for _, e := range config.Errors(err) {
		if strings.Contains(e.Error(), "\n") {
			t.Errorf("more than one line: %q", e.Error())
		}
		b.WriteString("# " + strings.TrimPrefix(e.Error(), filepath.Dir(file)+string(filepath.Separator)) + "\n")
	}
	return b.String()
}

// header parts the leading comment lines from the rest.
func header(text string) (head, body string) {
	for strings.HasPrefix(text, "# ") {
		line, rest, _ := strings.Cut(text, "\n")
		head, text = head+line+"\n", rest
		if strings.HasPrefix(line, "# schema: ") {
			break
		}
	}
	return head, text
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	return files
}

func readTOML(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := toml.Values(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestUnreadableFilesAreErrors(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.toml")
	if err := os.WriteFile(large, []byte(strings.Repeat("# \n", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.toml")
	for _, tt := range []struct {
		name string
		opts config.Options
		want string // without the file's name
	}{
		{"named and missing", config.Options{User: missing, UserRequired: true}, ": no such file; create it, or unset CODEX_BRIDGE_CONFIG"},
		{"folder", config.Options{User: dir}, ": cannot be read: it is a folder; fix it or remove it"},
		{"managed folder", config.Options{Managed: dir}, ": cannot be read: it is a folder; fix it or remove it"},
		{"too large", config.Options{User: large}, ": cannot be read: it is larger than 256KiB; fix it or remove it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Load(tt.opts)
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), dir) {
				t.Errorf("got %v, want …%s", err, tt.want)
			}
		})
	}
	t.Run("unreadable", func(t *testing.T) {
		// No user can read a link to itself, not even root.
		file := filepath.Join(t.TempDir(), "config.toml")
		if err := os.Symlink(file, file); err != nil {
			t.Fatal(err)
		}
		if _, err := load(file); err == nil || !strings.HasPrefix(err.Error(), file+":") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("parent is a file", func(t *testing.T) {
		if _, err := load(filepath.Join(large, "config.toml")); err == nil {
			t.Error("a file in place of the folder passes for a missing one")
		}
	})
}

// Load reports the errors of all files together.
func TestLoadReportsErrorsOfAllFiles(t *testing.T) {
	a, b := write(t, "x = 1\n"), write(t, "[policy]\nmode = 2\ny = 3\n")
	_, err := config.Load(config.Options{Managed: a, User: b})
	var got []string
	for _, e := range config.Errors(err) {
		got = append(got, e.Key)
	}
	if diff := cmp.Diff([]string{"x", "policy.mode", "policy.y"}, got); diff != "" {
		t.Error(diff)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 3 {
		t.Errorf("want a line each: %q", lines)
	}
}

// A value that may be a password or a token is never shown.
func TestErrorsDoNotShowSecrets(t *testing.T) {
	for _, text := range []string{
		"[store]\nurl = \"mysql://u:hunter2@db/x\"\n",
		"[store]\nurl = \"postgres://u:hunter2%zz@db/x\"\n",
		"[tool_servers.a]\nurl = \"ftp://u:hunter2@db/x\"\n",
		"[codex.env]\nTOKEN = [\"hunter2\"]\n",
		"[thread]\ndeveloper_instructions = {hunter2 = 'hunter2'}\n",
	} {
		if _, err := load(write(t, text)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", text, err)
		}
	}
	managed := write(t, "[codex.env]\nTOKEN = \"hunter2\"\n[store]\nurl = \"postgres://u:hunter2@db/x\"\n")
	user := write(t, "[codex.env]\nTOKEN = \"hunter3\"\n[store]\nurl = \"postgres://u:hunter3@db/x\"\n")
	cfg, err := config.Load(config.Options{Managed: managed, User: user})
	if err != nil || len(cfg.Warnings()) != 2 || strings.Contains(fmt.Sprint(cfg.Warnings()), "hunter") {
		t.Errorf("got %v", err)
	}
}

// A managed file to try counts between the installed one and the user's, and loosens neither.
func TestCandidateOnlyTightens(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	managed := write("managed.toml", "[policy]\nsandbox = \"read-only\"\n")
	candidate := write("candidate.toml", "[policy]\nmode = \"audit\"\nsandbox = \"danger-full-access\"\nnetwork = false\n[compat]\nignore_unknown = true\n")
	user := write("user.toml", "[policy]\nnetwork = true\n")
	cfg, err := config.Load(config.Options{Managed: managed, Candidate: candidate, User: user})
	if err != nil {
		t.Fatal(err)
	}
	if p := cfg.Policy; p.Mode != config.Enforce || p.Sandbox != "read-only" || p.Network {
		t.Errorf("%+v", p)
	}
	if _, err := config.Load(config.Options{Candidate: filepath.Join(dir, "none.toml")}); err == nil {
		t.Error("a missing file to try is no error")
	}
}
