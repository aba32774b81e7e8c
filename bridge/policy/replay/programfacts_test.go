package replay_test

import (
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/policytest"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/bridge/rules"
)

// recomputeStart returns the effect of q on the record of a start that p has decided.
func recomputeStart(t *testing.T, p, q *policy.Policy, programs []rules.Program, unreadable string, st policy.State) (replay.Recomputed, *replay.Facts) {
	t.Helper()
	f, err := replay.DecodeFacts(replay.ProgramFacts(p, "c", programs, unreadable, st).Encode())
	if err != nil {
		t.Fatal(err)
	}
	r, unknown := replay.NewCase("program/start", f)
	if unknown != "" {
		return replay.Recomputed{Unknown: unknown}, f
	}
	return replay.Recompute(q, r, st.Now()), f
}

// The start of a program is computed again from its facts as it was decided, also under another policy.
func TestProgramIsRecomputed(t *testing.T) {
	cfg := policytest.ProgramPolicy()
	cfg.ExecRules = "on"
	p, st := policytest.Compile(t, cfg), policytest.ProgramState(`"on-request"`, "workspace-write")
	other := cfg
	other.Rules = []config.Rule{{Command: "git log", Decision: "deny"}}
	off := cfg
	off.ExecRules = "off"
	ls, deploy := rules.Program{Path: "/usr/bin/ls", Args: []string{"ls"}}, rules.Program{Path: "/opt/deploy", Args: []string{"deploy", "x y"}}
	for name, test := range map[string]struct {
		programs   []rules.Program
		unreadable string
		want       string // the effects under p, other and off
		summary    string
	}{
		"asked":       {[]rules.Program{policytest.GitProgram("log")}, "", "ask deny allow", "/usr/bin/git log"},
		"denied":      {[]rules.Program{policytest.GitProgram("push", "x")}, "", "deny allow allow", "/usr/bin/git push x"},
		"an allowed":  {[]rules.Program{policytest.GitProgram("status")}, "", "allow allow allow", "/usr/bin/git status"},
		"free":        {[]rules.Program{ls}, "", "allow allow allow", "/usr/bin/ls"},
		"approvers":   {[]rules.Program{deploy}, "", "approvers allow allow", "/opt/deploy 'x y'"},
		"a script":    {[]rules.Program{ls, policytest.GitProgram("push")}, "", "deny allow allow", "/usr/bin/ls"},
		"unreadable":  {[]rules.Program{ls}, "it has too many words", "deny deny allow", "/usr/bin/ls"},
		"not located": {nil, "its memory can't be read", "deny deny allow", ""},
	} {
		var got []string
		for _, q := range []*policy.Policy{p, policytest.Compile(t, other), policytest.Compile(t, off)} {
			out, f := recomputeStart(t, p, q, test.programs, test.unreadable, st)
			if out.Unknown != "" || f.Summary() != test.summary {
				t.Errorf("%s: %+v, %q", name, out, f.Summary())
			}
			got = append(got, out.Effect.String())
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A start is not computed again if its record lacks an input.
func TestProgramIsNotRecomputed(t *testing.T) {
	cfg := policytest.ProgramPolicy()
	cfg.ExecRules = "on"
	p := policytest.Compile(t, cfg)
	loader := rules.Program{Path: "/lib64/ld-linux-x86-64.so.2", Args: []string{"ld.so", "git"}, Dir: "/w", Follow: func(path string) (string, error) { return path, nil }}
	accepted := policytest.ProgramState(`"on-request"`, "workspace-write")
	accepted.Accepted = []rules.AskedCommand{{Words: []rules.Word{{Text: "git", Known: true}}, Rule: &cfg.Rules[2]}}
	for name, test := range map[string]struct {
		program rules.Program
		st      policy.State
	}{
		"bytes": {policytest.GitProgram("\xff"), policytest.ProgramState(`"on-request"`, "workspace-write")}, "loader": {loader, policytest.ProgramState(`"on-request"`, "workspace-write")},
		"accepted": {policytest.GitProgram("log"), accepted}, "too long": {policytest.GitProgram(slices.Repeat([]string{"word"}, 5000)...), policytest.ProgramState(`"on-request"`, "workspace-write")},
	} {
		if out, _ := recomputeStart(t, p, p, []rules.Program{test.program}, "", test.st); out.Unknown == "" {
			t.Errorf("%s: %+v", name, out)
		}
	}
}
