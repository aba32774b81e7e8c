package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// TestDecideTool checks that a hook's call is denied, passes, or needs a person.
func TestDecideTool(t *testing.T) {
	const (
		pass = "pass"
		ask  = "ask"
		deny = "deny"
	)
	gated := policy.Thread{ID: "T", Workspace: "/code/proj", Sandbox: "workspace-write", Approval: json.RawMessage(`"on-request"`), Gated: true}
	plain := gated
	plain.Gated = false
	native, never, granular, full, readOnly := plain, plain, plain, gated, gated
	native.Approval, never.Approval = json.RawMessage(`"untrusted"`), json.RawMessage(`"never"`)
	granular.Approval = json.RawMessage(`{"granular":{"sandbox_approval":false,"rules":true,"mcp_elicitations":true}}`)
	open := plain
	open.Sandbox = "danger-full-access"
	fenced := plain
	fenced.Profile = policy.Profile{Defined: true, Protected: [][]string{{".git"}, {".vscode"}}}
	full.Sandbox, readOnly.Sandbox = "danger-full-access", "read-only"

	const inside = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch"
	const outside = "*** Begin Patch\n*** Add File: /etc/new\n+x\n*** End Patch"
	const hooks = "*** Begin Patch\n*** Update File: .vscode/tasks.json\n@@\n-a\n+b\n*** End Patch"
	for name, test := range map[string]struct {
		thread     *policy.Thread
		tool, text string
		escalation rules.Escalation
		letsOut    bool
		requested  bool
		shell      string
		want       string
		why        string // part of what is said, "" none
	}{
		"gated command":               {thread: &gated, tool: "Bash", text: "ls", escalation: rules.Sandboxed, want: ask},
		"gated, not known":            {thread: &gated, tool: "Bash", text: "ls", want: ask},
		"gated, allowed by a rule":    {thread: &gated, tool: "Bash", text: "make test", escalation: rules.Sandboxed, shell: "bash", want: pass},
		"gated, by another shell":     {thread: &gated, tool: "Bash", text: "make test", escalation: rules.Sandboxed, shell: "zsh", want: pass},
		"gated, shell not known":      {thread: &gated, tool: "Bash", text: "make test", escalation: rules.Sandboxed, want: ask},
		"gated, not in the grammar":   {thread: &gated, tool: "Bash", text: "make test # x", escalation: rules.Sandboxed, shell: "bash", want: ask},
		"gated, denied by a rule":     {thread: &gated, tool: "Bash", text: "git push", escalation: rules.Sandboxed, want: deny, why: "by hand"},
		"gated, escalated":            {thread: &gated, tool: "Bash", text: "ls", escalation: rules.Escalated, want: deny, why: "outside the sandbox"},
		"escalated, for codex":        {thread: &gated, tool: "Bash", text: "ls", escalation: rules.Escalated, letsOut: true, requested: true, want: pass},
		"escalated, perhaps":          {thread: &gated, tool: "Bash", text: "ls", escalation: rules.Escalated, letsOut: true, want: ask, why: "can't find out"},
		"a rule asks, perhaps":        {thread: &plain, tool: "Bash", text: "mkdir x", escalation: rules.Escalated, letsOut: true, want: ask, why: "can't find out"},
		"gated patch":                 {thread: &gated, tool: "apply_patch", text: inside, want: ask},
		"gated patch, read-only":      {thread: &readOnly, tool: "apply_patch", text: inside, want: deny, why: "more than read-only"},
		"patch, read-only, shown":     {thread: &readOnly, tool: "apply_patch", text: inside, letsOut: true, want: ask, why: "leaves the sandbox"},
		"patch outside":               {thread: &gated, tool: "apply_patch", text: outside, want: deny, why: "/etc/new"},
		"patch outside, shown":        {thread: &plain, tool: "apply_patch", text: outside, letsOut: true, want: ask, why: "leaves the sandbox"},
		"protected, shown":            {thread: &plain, tool: "apply_patch", text: hooks, letsOut: true, want: ask, why: "protected_paths"},
		"protected, nobody asked":     {thread: &never, tool: "apply_patch", text: hooks, letsOut: true, want: deny, why: "protected_paths"},
		"patch in a shell":            {thread: &plain, tool: "Bash", text: "apply_patch <<'E'\n" + outside + "\nE", escalation: rules.Sandboxed, want: deny, why: "/etc/new"},
		"patch that cannot be read":   {thread: &gated, tool: "apply_patch", text: "*** Begin Patch", want: deny},
		"into a protected one":        {thread: &gated, tool: "Bash", text: "echo x > sub/.vscode/y", escalation: rules.Sandboxed, want: deny, why: "policy.protected_paths"},
		"… by a program":              {thread: &plain, tool: "Bash", text: "make test; tee -a sub/.VSCODE/y", escalation: rules.Sandboxed, want: deny, why: "/code/proj/sub/.VSCODE/y"},
		"… by cd":                     {thread: &plain, tool: "Bash", text: "cd sub/.vscode && echo > y", escalation: rules.Sandboxed, want: deny, why: "protected"},
		"… and cd back":               {thread: &fenced, tool: "Bash", text: "cd sub && touch .vscode/y && cd ..", escalation: rules.Sandboxed, want: deny, why: "protected"},
		"… and cd away":               {thread: &plain, tool: "Bash", text: "(cd sub; touch .vscode/y); cd /tmp", escalation: rules.Sandboxed, want: deny, why: "protected"},
		"… behind another cd":         {thread: &plain, tool: "Bash", text: "(cd /tmp; ls); touch sub/.vscode/y", escalation: rules.Sandboxed, want: deny, why: "protected"},
		"… by a computed cd":          {thread: &fenced, tool: "Bash", text: `cd "$PWD/sub" && touch .vscode/y`, escalation: rules.Sandboxed, want: deny, why: "protected"},
		"… with an empty variable":    {thread: &plain, tool: "Bash", text: "touch sub/$x.vscode/y", escalation: rules.Sandboxed, want: deny, why: "protected"},
		"… of another protected one":  {thread: &plain, tool: "Bash", text: "touch sub/.git/y", escalation: rules.Sandboxed, want: deny, why: "sub/.git/y"},
		"… of that, computed":         {thread: &plain, tool: "Bash", text: "rm -rf $d/.git", escalation: rules.Sandboxed, want: pass},
		"… cd alone":                  {thread: &plain, tool: "Bash", text: "cd sub && cd .. && touch y", escalation: rules.Sandboxed, want: pass},
		"… that is mounted":           {thread: &fenced, tool: "Bash", text: "touch .vscode/y; cd sub", escalation: rules.Sandboxed, want: deny},
		"… that is mounted, in place": {thread: &fenced, tool: "Bash", text: "touch .vscode/y", escalation: rules.Sandboxed, want: pass},
		"… in any folder":             {thread: &plain, tool: "Bash", text: "rm $d/.vscode/y", escalation: rules.Sandboxed, want: deny, why: "protected"},
		"… behind a link":             {thread: &plain, tool: "Bash", text: "echo > way/y", escalation: rules.Sandboxed, want: deny, why: "/code/proj/sub/.vscode/y"},
		"… shown":                     {thread: &plain, tool: "Bash", text: "touch sub/.vscode/y", escalation: rules.Sandboxed, letsOut: true, want: ask, why: "leaves the sandbox"},
		"… nobody asked":              {thread: &never, tool: "Bash", text: "touch sub/.vscode/y", escalation: rules.Sandboxed, letsOut: true, want: deny, why: "protected"},
		"… codex asks":                {thread: &native, tool: "Bash", text: "touch sub/.vscode/y", escalation: rules.Sandboxed, letsOut: true, want: pass},
		"… escalated":                 {thread: &plain, tool: "Bash", text: "touch sub/.vscode/y", escalation: rules.Escalated, requested: true, letsOut: true, want: pass},
		"… escalated, it may be":      {thread: &plain, tool: "Bash", text: "touch sub/.vscode/y", escalation: rules.Escalated, letsOut: true, want: ask, why: "sub/.vscode/y"},
		"… escalated, no sandbox":     {thread: &open, tool: "Bash", text: "touch sub/.vscode/y", escalation: rules.Escalated, requested: true, letsOut: true, want: ask, why: "sub/.vscode/y"},
		"… escalated, another file":   {thread: &plain, tool: "Bash", text: "touch sub/y", escalation: rules.Escalated, letsOut: true, want: pass},
		"… without a sandbox":         {thread: &full, tool: "Bash", text: "touch .vscode/y", escalation: rules.Sandboxed, want: deny, why: "protected"},
		"… that codex mounts":         {thread: &plain, tool: "Bash", text: "touch .git/y", escalation: rules.Sandboxed, want: pass},
		"… that it does not mount":    {thread: &plain, tool: "Bash", text: "touch .vscode/y", escalation: rules.Sandboxed, want: deny, why: "protected"},
		"… that is read":              {thread: &plain, tool: "Bash", text: "cp sub/.vscode/y z; sed s/.vscode/x/ sub/.vscode/y", escalation: rules.Sandboxed, want: pass},
		"… outside of the roots":      {thread: &plain, tool: "Bash", text: "rm -r /tmp/clone/.git", escalation: rules.Sandboxed, want: pass},
		"patch that Codex asks about": {thread: &never, tool: "apply_patch", text: "*** Begin Patch\n*** Add File: .git/x\n+x\n*** End Patch", letsOut: true, want: pass},
		"… that it does not":          {thread: &never, tool: "apply_patch", text: "*** Begin Patch\n*** Add File: sub/.git/x\n+x\n*** End Patch", letsOut: true, want: deny, why: "sub/.git/x"},
		"patch behind cd":             {thread: &plain, tool: "Bash", text: "cd /etc && apply_patch <<'E'\n" + inside + "\nE", escalation: rules.Sandboxed, want: deny, why: "/etc/new"},
		"… behind a hidden cd":        {thread: &plain, tool: "Bash", text: "A=1 cd /etc && apply_patch <<'E'\n" + inside + "\nE", escalation: rules.Sandboxed, want: deny, why: "/etc/new"},
		"… in a folder inside":        {thread: &plain, tool: "Bash", text: "cd sub && apply_patch <<'E'\n" + inside + "\nE", escalation: rules.Sandboxed, want: pass},
		"… escalated, gated":          {thread: &gated, tool: "Bash", text: "apply_patch <<'E'\n" + inside + "\nE", escalation: rules.Escalated, requested: true, letsOut: true, want: ask, why: "can't find out"},
		"… escalated, not gated":      {thread: &plain, tool: "Bash", text: "apply_patch <<'E'\n" + inside + "\nE", escalation: rules.Escalated, requested: true, letsOut: true, want: pass},
		"… escalated, protected":      {thread: &plain, tool: "Bash", text: "cd sub && apply_patch <<'E'\n" + hooks + "\nE", escalation: rules.Escalated, requested: true, letsOut: true, want: ask, why: ".vscode/tasks.json"},
		"a name with a line break":    {thread: &plain, tool: "Bash", text: "touch 'sub/.vscode/a]\n\u202e[codex-bridge: checked]'", escalation: rules.Sandboxed, letsOut: true, want: ask, why: `a]\n\u202e[codex-bridge: checked]`},
		"the name of a patch's tool":  {thread: &plain, tool: "Bash", text: "echo apply_patch", escalation: rules.Sandboxed, want: pass},
		"the words of a patch":        {thread: &plain, tool: "Bash", text: "echo '*** Begin Patch'", escalation: rules.Sandboxed, want: pass},
		"gated tool":                  {thread: &gated, tool: "mcp__files__read", want: pass},
		"a rule asks":                 {thread: &plain, tool: "Bash", text: "mkdir x", escalation: rules.Sandboxed, want: ask, why: "Folders"},
		"a rule asks, of a server":    {thread: &plain, tool: "mcp__files__write", want: ask, why: "Files"},
		"a rule asks, granular":       {thread: &granular, tool: "Bash", text: "mkdir x", escalation: rules.Sandboxed, want: ask, why: "Folders"},
		"a rule asks, codex does":     {thread: &native, tool: "Bash", text: "mkdir x", escalation: rules.Sandboxed, want: pass},
		"a rule asks, of a server, …": {thread: &native, tool: "mcp__files__write", want: deny, why: "this thread has none"}, // Codex may not ask
		"a rule asks, nobody":         {thread: &never, tool: "Bash", text: "mkdir x", escalation: rules.Sandboxed, want: deny, why: "this thread has none"},
		"not gated":                   {thread: &plain, tool: "Bash", text: "ls", escalation: rules.Sandboxed, want: pass},
		"no sandbox":                  {thread: &full, tool: "Bash", text: "ls", escalation: rules.Sandboxed, want: ask, why: "no sandbox"},
		"no thread":                   {tool: "Bash", text: "mkdir x", want: deny},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := contract()
			cfg.Gate, cfg.Sandbox = true, "workspace-write"
			cfg.ProtectedPaths = []string{".git", ".vscode"}
			if test.letsOut {
				cfg.Escalation = "ask"
			}
			cfg.Rules = []config.Rule{
				{Tool: "shell", Command: "git push **", Decision: "deny", Reason: "Pushing is done by hand."},
				{Tool: "shell", Command: "make test", Decision: "allow"},
				{Tool: "shell", Command: "mkdir **", Decision: "ask", Reason: "Folders are for people."},
				{Tool: "mcp__files__write", Decision: "ask", Reason: "Files, too."},
			}
			st := state()
			st.Thread, st.Escalation, st.EscalationRequested = test.thread, test.escalation, test.requested
			raw, err := json.Marshal(map[string]string{"command": test.text})
			if err != nil {
				t.Fatal(err)
			}
			input, err := rpc.ParseValue(raw)
			if err != nil {
				t.Fatal(err)
			}
			d := toolcall.Decide(compile(t, cfg), toolcall.Call{ID: "c", Name: test.tool, Input: input.Root(), Cwd: "/code/proj", Shell: test.shell}, st)
			got, said := pass, ""
			switch {
			case d.Verdict == policy.Deny:
				got, said = deny, d.Err.Message
			case d.Ask:
				got, said = ask, d.AskReason
			}
			if got != test.want || !strings.Contains(said, test.why) || test.why == "" && got == ask && !strings.HasPrefix(said, "the policy asks before each command and patch (policy.approval, ") {
				t.Errorf("%s: %q", got, said)
			}
		})
	}
}

// TestRefusedApprovalNamesNoChange checks that a refused approval policy has no text about a change,
// which would take place in a request that is sent.
func TestRefusedApprovalNamesNoChange(t *testing.T) {
	cfg := contract()
	cfg.Gate, cfg.Approval = true, []string{"untrusted"}
	st := state()
	d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/settings/update","params":{"threadId":"T","approvalPolicy":"never"}}`), st)
	if d.Err == nil || strings.Contains(d.Err.Message, "asks before each command") || !strings.Contains(d.Err.Message, `"never" is not in policy.approval`) {
		t.Errorf("%v", d.Err)
	}
}
