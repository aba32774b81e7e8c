package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// TestPatchAfterOddCd checks that a patch in a shell command is checked in every folder that Codex
// could read from it. Codex reads cd in ways in which no shell does.
func TestPatchAfterOddCd(t *testing.T) {
	cfg := config.Default().Policy
	cfg.Mode, cfg.Sandbox, cfg.ProtectedPaths = config.Enforce, "workspace-write", []string{".github/workflows"}
	p, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	const patch = " <<'EOF'\n*** Begin Patch\n*** Add File: workflows/a\n+x\n*** End Patch\nEOF\n"
	for head, denied := range map[string]bool{
		"cd sub/.github && apply_patch":                            true,
		"cd\\\nsub/.github && apply_patch":                         true,
		"cd\vsub/.github && apply_patch":                           true,
		"cd\fsub/.github && apply_patch":                           true,
		`cd "sub/.github$(true)" && apply_patch`:                   true,
		`cd "$(true)sub/.github" && applypatch`:                    true,
		"A=1 cd sub/.github && apply_patch":                        true,
		`A="<<" cd sub/.github && apply_patch`:                     true,
		`A="*** Begin Patch" cd\` + "\nsub/.github && apply_patch": true,
		"cd /code/proj/sub/.github && apply_patch":                 true,
		"cd" + strings.Repeat(" a", 4093) + " && apply_patch":      false, // 4,096 words, with EOF
		"cd" + strings.Repeat(" a", 4094) + " && apply_patch":      true,
		"cd sub && apply_patch":                                    false,
		"cd sub/.github/x && apply_patch":                          false,
		"apply_patch":                                              false,
		": sub/.github; apply_patch":                               false,
	} {
		d := decideLine(t, p, head+patch)
		if (d.Verdict == policy.Deny) != denied {
			t.Errorf("%.60q: %v, %v", head, d.Verdict, d.Err)
		}
	}
}

// TestFolderNotKnown checks that a line in an unknown folder changes what its relative paths name after "..".
func TestFolderNotKnown(t *testing.T) {
	cfg := config.Default().Policy
	cfg.Mode, cfg.Sandbox, cfg.ProtectedPaths = config.Enforce, "workspace-write", []string{".github/workflows"}
	p, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for line, denied := range map[string]bool{
		"touch sub/.github/workflows/a":          true,
		"touch sub/.github/y/../workflows/a":     true,
		"cd sub/.github/y; touch ../workflows/a": true,
		"touch sub/.github/y/../a":               false,
		"touch ../sub/a..b":                      false,
	} {
		if d := decideLineAt(t, p, disk, "", line); (d.Verdict == policy.Deny) != denied {
			t.Errorf("%q: %v, %v", line, d.Verdict, d.Err)
		}
	}
}

// TestPatchWithoutFiles checks that a patch without files is not checked in the folder of each
// word.
func TestPatchWithoutFiles(t *testing.T) {
	cfg := config.Default().Policy
	cfg.Mode, cfg.Sandbox = config.Enforce, "workspace-write"
	p, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	command, err := json.Marshal(map[string]string{"command": "cd" + strings.Repeat(" a", 1_000_000) + " apply_patch *** Begin Patch"})
	if err != nil {
		t.Fatal(err)
	}
	input, err := rpc.ParseValue(command)
	if err != nil {
		t.Fatal(err)
	}
	st := state()
	st.Escalation = rules.Sandboxed
	st.Thread.Sandbox, st.Thread.Approval = "workspace-write", []byte(`"on-request"`)
	decided := make(chan policy.Decision, 1)
	go func() {
		decided <- toolcall.Decide(p, toolcall.Call{Name: "Bash", Shell: "bash", Cwd: "/code/proj", Input: input.Root()}, st)
	}()
	select {
	case <-decided:
	case <-time.After(time.Minute): // with a check in each folder it takes longer
		t.Error("no decision about the command after a minute")
	}
}

// TestProtectedPathsInUnreadableLines checks that a line that the bridge can't read leaves the
// sandbox if a word names a protected path that Codex does not protect. A too long line leaves it
// if the policy has such a path.
func TestProtectedPathsInUnreadableLines(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{".git", ".github/workflows"}
	long := "; : " + strings.Repeat("x", 64<<10)
	own := config.Policy(cfg)
	own.ProtectedPaths = []string{".git"}
	for line, want := range map[string]policy.Verdict{
		"touch sub/a" + long:               policy.Deny,
		"touch sub/.github/a\n(":           policy.Pass,
		"touch sub/.git/a\n(":              policy.Pass,
		"touch sub/.github/workflows/a\n(": policy.Deny,
		"touch sub/a\n(":                   policy.Pass,
		"cat sub/.github/workflows/a":      policy.Pass,
		"apply_patch < p":                  policy.Deny,
		"apply_patch <<E\n*** Begin Patch\n*** Add File: a\n+$x\n*** End Patch\nE\n":     policy.Deny,
		"apply_patch <<'E'\n*** Begin Patch\n*** Add File: a\n+\\$x\n*** End Patch\nE\n": policy.Pass,
	} {
		raw, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		st := state()
		st.Escalation = rules.Sandboxed
		st.Thread.Sandbox, st.Thread.Approval = "workspace-write", []byte(`"on-request"`)
		use := toolcall.Call{Name: "Bash", Shell: "bash", Cwd: "/code/proj", Input: value(t, string(raw))}
		if d := toolcall.Decide(compile(t, cfg), use, st); d.Verdict != want {
			t.Errorf("%.40q: %v, %v", line, d.Verdict, d.Err)
		}
		if d := toolcall.Decide(compile(t, own), use, st); d.Verdict != policy.Pass {
			t.Errorf("%.40q where Codex protects all: %v, %v", line, d.Verdict, d.Err)
		}
	}
}

// A patch with a name that Codex may read differently leaves the sandbox.
func TestPatchWithUnclearName(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{".github/workflows"}
	for _, name := range []string{" /../sub/.github/workflows/a", "sub/.git\thub/workflows/a", "a "} {
		patch := "*** Begin Patch\n*** Add File: " + name + "\n+x\n*** End Patch\n"
		for tool, command := range map[string]string{"apply_patch": patch, "Bash": "apply_patch <<'E'\n" + patch + "E\n"} {
			raw, err := json.Marshal(map[string]string{"command": command})
			if err != nil {
				t.Fatal(err)
			}
			st := state()
			st.Escalation = rules.Sandboxed
			st.Thread.Sandbox, st.Thread.Approval = "workspace-write", []byte(`"on-request"`)
			d := toolcall.Decide(compile(t, cfg), toolcall.Call{Name: tool, Shell: "bash", Cwd: "/code/proj", Input: value(t, string(raw))}, st)
			if d.Verdict != policy.Deny {
				t.Errorf("%s of %q: %v, %v", tool, name, d.Verdict, d.Err)
			}
		}
	}
}

// TestLinesThatMoveTheTopOfTheWorkspace checks that the target of a link is relative to the link's
// folder, and that a line which the bridge can't read completely may change each protected path in
// its text.
func TestLinesThatMoveTheTopOfTheWorkspace(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{".github"}
	p := compile(t, cfg)
	for command, denied := range map[string]bool{
		"touch .github/x":                          false, // Codex mounts it read-only
		"env -C . touch x; cat .github/x":          false,
		"env -C deep touch .github/x":              true,
		"CDPATH=deep; cd .github && touch x":       true,
		"cd .github && touch x":                    false,
		"ln -s .github deep/y; echo > deep/y/x":    true,
		"find deep -execdir touch .github/x \\\\;": true,
		"cd deep; touch .github/x\\n(":             true,
		"touch deep/.git''hub/x\\n(":               true,
		"touch deep/x\\n(":                         false,
		"sed -i s/a/b/ deep/.github/x fine":        true,
		"sed -i s/.github/b/ fine":                 false,
	} {
		st := state()
		st.Thread = &policy.Thread{ID: "T", Workspace: "/code/proj", Sandbox: "workspace-write", Approval: json.RawMessage(`"on-request"`), Profile: policy.Profile{Defined: true, Protected: [][]string{{".github"}}}}
		st.Escalation = rules.Sandboxed
		d := toolcall.Decide(p, toolcall.Call{Name: "Bash", Input: value(t, `{"command":"`+command+`"}`), Cwd: "/code/proj", Shell: "bash"}, st)
		if got := d.Verdict == policy.Deny; got != denied {
			t.Errorf("%s: %s %v", command, d.Verdict, d.Err)
		}
	}
}

// TestWorkOfLine checks that the work to resolve the paths of a command line is bounded. Above the
// bound, the line leaves the sandbox if the policy protects paths that Codex does not.
func TestWorkOfLine(t *testing.T) {
	long := strings.Repeat("a/", 1500)
	path := func(names, size int) string { // an absolute path
		return strings.Repeat("/a", names-1) + "/" + strings.Repeat("a", size-2*names+1)
	}
	for _, test := range []struct {
		line      string
		protected string
		denied    bool
	}{
		{"touch " + strings.Repeat("a/", 100) + "x b c", ".github/workflows", false},
		{"touch " + long + "x", ".github/workflows", false},
		{"touch " + long + "x " + long + "y", ".github/workflows", true},
		{"touch " + long + "x " + long + "y", ".git", false},
		{"cd " + long + "; cd ..; touch x", ".github/workflows", true},
		{"cd " + strings.Repeat("a/", 100) + "; cd ..; touch x", ".github/workflows", false},
		{"touch " + path(2048, 8192), ".github/workflows", false},
		{"touch " + path(2049, 8192), ".github/workflows", true},
		{"touch " + path(4000, 8192), ".github/workflows", true},
		{"touch " + path(4000, 8193), ".github/workflows", true}, // the line may be in one of its folders
		{"touch " + path(2049, 8192) + " sub/.git/x", ".git", true},
		{"touch /code/proj/way" + path(2045, 8000), ".vscode", true}, // way is a link
	} {
		cfg := config.Default().Policy
		cfg.Mode, cfg.Sandbox, cfg.ProtectedPaths = config.Enforce, "workspace-write", []string{test.protected}
		p, err := policy.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := decideLine(t, p, test.line)
		if (d.Verdict == policy.Deny) != test.denied {
			t.Errorf("%.40q with %s: %v, %v", test.line, test.protected, d.Verdict, d.Err)
		}
	}
}

// decideLine decides a command in the sandbox of a workspace-write thread.
func decideLine(t *testing.T, p *policy.Policy, line string) policy.Decision {
	t.Helper()
	return decideLineIn(t, p, disk, line)
}

// decideLineIn is decideLine in a file system.
func decideLineIn(t *testing.T, p *policy.Policy, paths policy.Paths, line string) policy.Decision {
	t.Helper()
	return decideLineAt(t, p, paths, "/code/proj", line)
}

// decideLineAt is decideLineIn in a folder; "" for an unknown one.
func decideLineAt(t *testing.T, p *policy.Policy, paths policy.Paths, cwd, line string) policy.Decision {
	t.Helper()
	command, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	input, err := rpc.ParseValue(command)
	if err != nil {
		t.Fatal(err)
	}
	st := state()
	st.Paths, st.Escalation = paths, rules.Sandboxed
	st.Thread.Sandbox, st.Thread.Approval = "workspace-write", []byte(`"on-request"`)
	return toolcall.Decide(p, toolcall.Call{Name: "Bash", Shell: "bash", Cwd: cwd, Input: input.Root()}, st)
}
