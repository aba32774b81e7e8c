package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

func TestCheckSensitivePaths(t *testing.T) {
	tmp, tmpdir := policy.TempFolder{Name: "/tmp", Path: "/tmp"}, policy.TempFolder{Name: "$TMPDIR", Path: "/home/ada/Temp"}
	for name, test := range map[string]struct {
		place string
		temps []policy.TempFolder
		want  string
	}{
		"apart":          {"/home/ada/.state", []policy.TempFolder{tmp, tmpdir}, ""},
		"alike":          {"/tmpfile", []policy.TempFolder{tmp}, ""},
		"the folder":     {"/tmp", []policy.TempFolder{tmp}, "the thing /tmp is in /tmp, where Codex lets sandboxed commands write; move it"},
		"inside":         {"/tmp/x/y", []policy.TempFolder{tmp}, "the thing /tmp/x/y is in /tmp, where Codex lets sandboxed commands write; move it"},
		"another case":   {"/home/ada/TEMP/x", []policy.TempFolder{tmp, tmpdir}, "the thing /home/ada/TEMP/x is in $TMPDIR (/home/ada/Temp), where Codex lets sandboxed commands write; move it, or set TMPDIR to another folder"},
		"a long s":       {"/srv/Temp\u017f/x", []policy.TempFolder{{Name: "$TMPDIR", Path: "/srv/temps"}}, "the thing /srv/Temp\u017f/x is in $TMPDIR (/srv/temps), where Codex lets sandboxed commands write; move it, or set TMPDIR to another folder"},
		"above":          {"/home/ada", []policy.TempFolder{tmp, tmpdir}, "the thing /home/ada contains $TMPDIR (/home/ada/Temp), where Codex lets sandboxed commands write; move it, or set TMPDIR to another folder"},
		"a relative one": {"/home/ada", []policy.TempFolder{{Name: "$TMPDIR", Path: "/start/x", Relative: true}}, "$TMPDIR is a relative path, which Codex resolves in the folder of each command and lets sandboxed commands write; set TMPDIR to an absolute path, or unset it"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, mode := range []config.Mode{config.Enforce, config.Audit} {
				for _, sandbox := range []string{"read-only", "workspace-write", "danger-full-access"} {
					cfg := config.Default().Policy
					cfg.Mode, cfg.Sandbox = mode, sandbox
					p, err := policy.New(cfg, nil)
					if err != nil {
						t.Fatal(err)
					}
					want := ""
					if mode == config.Enforce && sandbox != "read-only" {
						want = test.want
					}
					got := ""
					for _, one := range p.CheckSensitivePaths([]policy.SensitivePath{{Name: "the thing", Path: test.place, Hint: "move it"}}, test.temps) {
						got += one.Error()
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s, %s (-want +got)\n%s", mode, sandbox, diff)
					}
				}
			}
		})
	}
}

// TestRedirectedFolder checks that a command is denied after a writable folder leads elsewhere.
func TestRedirectedFolder(t *testing.T) {
	cfg := config.Default().Policy
	cfg.Mode = config.Enforce
	p, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	input, err := rpc.ParseValue([]byte(`{"command":"true"}`))
	if err != nil {
		t.Fatal(err)
	}
	use := toolcall.Call{Name: "Bash", Shell: "bash", Cwd: "/code/proj", Input: input.Root()}
	for path, verdict := range map[string]policy.Verdict{"/tmp": policy.Pass, "/home/ada/tmpfile": policy.Deny} {
		st := state()
		st.Escalation = rules.Sandboxed
		st.Temps = []policy.TempFolder{{Name: "$TMPDIR", Path: path}}
		if d := toolcall.Decide(p, use, st); d.Verdict != verdict {
			t.Errorf("%s: %v, %v", path, d.Verdict, d.Err)
		}
		tool := toolcall.Call{Name: "mcp__server__tool", Input: input.Root()}
		if d := toolcall.Decide(p, tool, st); d.Verdict != policy.Pass {
			t.Errorf("%s, a server's tool: %v, %v", path, d.Verdict, d.Err)
		}
	}
}

// TestRootsWithSensitivePaths checks that a writable root is not writable if it contains a
// sensitive path.
func TestRootsWithSensitivePaths(t *testing.T) {
	st := state()
	for root, kept := range map[string]bool{
		st.Home + "/other":      true,
		st.Home:                 false,
		st.CodexHome:            false,
		st.CodexHome + "/rules": false,
	} {
		cfg := config.Default().Policy
		cfg.Mode, cfg.Sandbox, cfg.WritableRoots = config.Enforce, "workspace-write", []string{"${workspace}", root}
		p, err := policy.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"turn/start","params":{"threadId":"` + st.Thread.ID + `","input":[],"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["` + root + `"],"networkAccess":false}}}`))
		if err != nil {
			t.Fatal(err)
		}
		d := p.Decide(m, st)
		if d.Verdict == policy.Deny || strings.Contains(string(d.Message), `"`+root+`"`) != kept {
			t.Errorf("%s: %s, %s, %v", root, d.Verdict, d.Message, d.Err)
		}
	}
}

// TestReadsConfigurationOfRelativeFolder checks that a relative cwd of config/read is a folder below
// the start folder, as for Codex.
func TestReadsConfigurationOfRelativeFolder(t *testing.T) {
	for cwd, want := range map[string]string{".": `"/code/proj"`, "sub": `"/code/proj/sub"`, "..": "", "~": "", "/code/proj": `"/code/proj"`} {
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"config/read","params":{"cwd":"`+cwd+`"}}`), state())
		if d.Err != nil {
			t.Fatal(d.Err)
		}
		if got := string(message(t, string(d.Message)).Params.Get("cwd").Raw()); got != want {
			t.Errorf("%q: Codex gets %s, want %s", cwd, got, want)
		}
	}
}
