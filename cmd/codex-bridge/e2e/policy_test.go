//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// policyConfig is the policy of the attempts.
const policyConfig = `
[policy]
mode = "enforce"
sandbox = "read-only"
approval = ["untrusted"]
`

// attempt is a request of a client for more than policyConfig allows. In the texts $THREAD, $CWD
// and $ROOT stand for the thread, the workspace and the folder above, $PATH for the thread's
// rollout file, $TURN for the running turn.
type attempt struct {
	codexConfig string   // the user's configuration of Codex
	rules       string   // the user's rules for commands
	flags       []string // before app-server
	stage       string   // the state before; see below
	method      string   // empty: no request
	params      string   // JSON

	// loosens is a part of the settings that Codex alone then reports (measured with 0.169.0);
	// empty: no effect on Codex either.
	loosens string

	// acts: Codex reports no such setting, but the marker exists: the command ran without a
	// question, outside the sandbox.
	acts bool
}

// The stages of an attempt:
//
//	start  the request opens a thread
//	live   an untrusted, read-only thread has run a turn
//	cold   the same thread in a new process
//	loose  as cold, but the thread started with never and danger-full-access
//	turn   as live, and the request is turn/start itself
//	mid    as live, during a turn that runs the command at its end
//
// touch is the command: its marker shows that it ran.
const touch = "RUN: touch $ROOT/marker"

const turnInput = `"input":[{"type":"text","text":"` + touch + `"}]`

var attempts = map[string]attempt{
	// thread/start, by its own fields.
	"start/nothing":      {stage: "start", method: "thread/start", params: `{"cwd":"$CWD"}`, loosens: "on-request"}, // on-request
	"start/both":         {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":"never","sandbox":"danger-full-access"}`, loosens: "dangerFullAccess"},
	"start/workspace":    {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":"on-request","sandbox":"workspace-write"}`, loosens: "workspaceWrite"},
	"start/granular":     {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":{"granular":{"sandbox_approval":false,"rules":false,"mcp_elicitations":false}}}`, loosens: "granular"},
	"start/permissions":  {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":"never","permissions":":danger-full-access"}`, loosens: "dangerFullAccess"},
	"start/roots":        {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":"never","sandbox":"workspace-write","runtimeWorkspaceRoots":["$ROOT"]}`, loosens: "workspaceWrite"},
	"start/environments": {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":"never","sandbox":"workspace-write","environments":[{"environmentId":"local","cwd":"$ROOT","runtimeWorkspaceRoots":["$ROOT"]}]}`, loosens: "workspaceWrite"},
	"start/reviewer":     {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"auto_review"}`, loosens: "auto_review"},
	"start/guardian":     {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"guardian_subagent"}`, loosens: "auto_review"},

	// thread/start, by its overlay of the configuration.
	"overlay/nested":          {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","config":{"approval_policy":"never","sandbox_mode":"danger-full-access"}}`, loosens: "dangerFullAccess"},
	"overlay/granular nested": {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","config":{"approval_policy":{"granular":{"sandbox_approval":false,"rules":false,"mcp_elicitations":false}}}}`, loosens: "granular"},
	"overlay/granular dotted": {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","config":{"approval_policy.granular.sandbox_approval":false,"approval_policy.granular.rules":false,"approval_policy.granular.mcp_elicitations":false}}`, loosens: "granular"},
	"overlay/profile":         {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","config":{"approval_policy":"never","default_permissions":":danger-full-access"}}`, loosens: "dangerFullAccess"},
	"overlay/network nested":  {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","config":{"sandbox_mode":"workspace-write","sandbox_workspace_write":{"network_access":true,"writable_roots":["$ROOT"]}}}`, loosens: "workspaceWrite"},
	"overlay/network dotted":  {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","config":{"sandbox_mode":"workspace-write","sandbox_workspace_write.network_access":true,"sandbox_workspace_write.writable_roots":["$ROOT"]}}`, loosens: "workspaceWrite"},
	"overlay/reviewer":        {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","config":{"approvals_reviewer":"auto_review"}}`, loosens: "auto_review"},
	"overlay/trust":           {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","config":{"projects":{"$CWD":{"trust_level":"trusted"}}}}`, loosens: "on-request"},

	// Codex's own configuration.
	"codex/config":      {codexConfig: "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\napprovals_reviewer = \"auto_review\"\n", stage: "start", method: "thread/start", params: `{"cwd":"$CWD"}`, loosens: "dangerFullAccess"},
	"codex/config null": {codexConfig: "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n", stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":null,"sandbox":null,"permissions":null}`, loosens: "dangerFullAccess"},
	"codex/profile":     {codexConfig: "approval_policy = \"never\"\ndefault_permissions = \":danger-full-access\"\n", stage: "start", method: "thread/start", params: `{"cwd":"$CWD"}`, loosens: "dangerFullAccess"},
	"codex/flags":       {flags: []string{"-c", `approval_policy="never"`, "-c", `sandbox_mode="danger-full-access"`}, stage: "start", method: "thread/start", params: `{"cwd":"$CWD"}`, loosens: "dangerFullAccess"},
	"codex/flag = form": {flags: []string{`--config=approval_policy="never"`, `-csandbox_mode="danger-full-access"`}, stage: "start", method: "thread/start", params: `{"cwd":"$CWD"}`, loosens: "dangerFullAccess"},
	// (Codex accepts these flags, but its app-server ignores them.)
	"codex/bypass":  {flags: []string{"--dangerously-bypass-approvals-and-sandbox"}, stage: "start", method: "thread/start", params: `{"cwd":"$CWD"}`, loosens: "on-request"},
	"codex/sandbox": {flags: []string{"--sandbox", "danger-full-access", "--ask-for-approval", "never"}, stage: "start", method: "thread/start", params: `{"cwd":"$CWD"}`, loosens: "on-request"},

	// A user's rule allows the command. Measured: Codex then runs it outside the sandbox without a
	// question, under any policy of the thread. The bridge asks before that; see
	// TestGateAndUserRule.
	"codex/allow rule": {rules: `prefix_rule(pattern=["touch"], decision="allow")`, stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":"untrusted","sandbox":"read-only"}`, acts: true},

	// thread/resume: for a loaded thread Codex ignores the settings.
	"resume live/both":        {stage: "live", method: "thread/resume", params: `{"threadId":"$THREAD","approvalPolicy":"never","sandbox":"danger-full-access"}`},
	"resume live/overlay":     {stage: "live", method: "thread/resume", params: `{"threadId":"$THREAD","config":{"approval_policy":"never","sandbox_mode":"danger-full-access"}}`},
	"resume cold/both":        {stage: "cold", method: "thread/resume", params: `{"threadId":"$THREAD","approvalPolicy":"never","sandbox":"danger-full-access"}`, loosens: "dangerFullAccess"},
	"resume cold/permissions": {stage: "cold", method: "thread/resume", params: `{"threadId":"$THREAD","approvalPolicy":"never","permissions":":danger-full-access"}`, loosens: "dangerFullAccess"},
	"resume cold/overlay":     {stage: "cold", method: "thread/resume", params: `{"threadId":"$THREAD","config":{"approval_policy":"never","sandbox_mode":"danger-full-access"}}`, loosens: "dangerFullAccess"},
	"resume cold/roots":       {stage: "cold", method: "thread/resume", params: `{"threadId":"$THREAD","sandbox":"workspace-write","runtimeWorkspaceRoots":["$ROOT"]}`, loosens: "workspaceWrite"},
	"resume cold/reviewer":    {stage: "cold", method: "thread/resume", params: `{"threadId":"$THREAD","approvalsReviewer":"auto_review"}`, loosens: "auto_review"},
	"resume cold/as it was":   {stage: "loose", method: "thread/resume", params: `{"threadId":"$THREAD"}`, loosens: "dangerFullAccess"},
	"resume cold/by its path": {stage: "loose", method: "thread/resume", params: `{"threadId":"$THREAD","path":"$PATH"}`, loosens: "dangerFullAccess"},

	"resume live/permissions":     {stage: "live", method: "thread/resume", params: `{"threadId":"$THREAD","approvalPolicy":"never","permissions":":danger-full-access"}`},
	"resume live/granular":        {stage: "live", method: "thread/resume", params: `{"threadId":"$THREAD","approvalPolicy":{"granular":{"sandbox_approval":false,"rules":false,"mcp_elicitations":false}}}`},
	"resume live/roots":           {stage: "live", method: "thread/resume", params: `{"threadId":"$THREAD","sandbox":"workspace-write","cwd":"$ROOT","runtimeWorkspaceRoots":["$ROOT"]}`},
	"resume live/reviewer":        {stage: "live", method: "thread/resume", params: `{"threadId":"$THREAD","approvalsReviewer":"auto_review"}`},
	"resume cold/granular":        {stage: "cold", method: "thread/resume", params: `{"threadId":"$THREAD","approvalPolicy":{"granular":{"sandbox_approval":false,"rules":false,"mcp_elicitations":false}}}`, loosens: "granular"},
	"resume cold/overlay dotted":  {stage: "cold", method: "thread/resume", params: `{"threadId":"$THREAD","config":{"approval_policy.granular.sandbox_approval":false,"approval_policy.granular.rules":false,"approval_policy.granular.mcp_elicitations":false,"sandbox_workspace_write.network_access":true,"sandbox_mode":"workspace-write"}}`, loosens: "networkAccess"},
	"resume cold/overlay profile": {stage: "cold", method: "thread/resume", params: `{"threadId":"$THREAD","config":{"approval_policy":"never","default_permissions":":danger-full-access"}}`, loosens: "dangerFullAccess"},
	"resume cold/cwd":             {stage: "cold", method: "thread/resume", params: `{"threadId":"$THREAD","sandbox":"workspace-write","cwd":"$ROOT"}`, loosens: "workspaceWrite"},
	"resume cold/history":         {stage: "loose", method: "thread/resume", params: `{"threadId":"$THREAD","approvalPolicy":"never","sandbox":"danger-full-access","history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}`, loosens: "dangerFullAccess"},

	"fork/both":           {stage: "live", method: "thread/fork", params: `{"threadId":"$THREAD","approvalPolicy":"never","sandbox":"danger-full-access"}`, loosens: "dangerFullAccess"},
	"fork/permissions":    {stage: "live", method: "thread/fork", params: `{"threadId":"$THREAD","approvalPolicy":"never","permissions":":danger-full-access"}`, loosens: "dangerFullAccess"},
	"fork/overlay":        {stage: "live", method: "thread/fork", params: `{"threadId":"$THREAD","config":{"approval_policy":"never","sandbox_mode":"danger-full-access"}}`, loosens: "dangerFullAccess"},
	"fork/reviewer":       {stage: "live", method: "thread/fork", params: `{"threadId":"$THREAD","approvalsReviewer":"auto_review"}`, loosens: "auto_review"},
	"fork/granular":       {stage: "live", method: "thread/fork", params: `{"threadId":"$THREAD","approvalPolicy":{"granular":{"sandbox_approval":false,"rules":false,"mcp_elicitations":false}}}`, loosens: "granular"},
	"fork/overlay dotted": {stage: "live", method: "thread/fork", params: `{"threadId":"$THREAD","config":{"approval_policy.granular.sandbox_approval":false,"approval_policy.granular.rules":false,"approval_policy.granular.mcp_elicitations":false,"sandbox_workspace_write.network_access":true,"sandbox_mode":"workspace-write"}}`, loosens: "networkAccess"},
	"fork/roots":          {stage: "live", method: "thread/fork", params: `{"threadId":"$THREAD","sandbox":"workspace-write","cwd":"$ROOT","runtimeWorkspaceRoots":["$ROOT"]}`, loosens: "workspaceWrite"},
	"fork/by its path":    {stage: "loose", method: "thread/fork", params: `{"threadId":"$THREAD","path":"$PATH"}`, loosens: "dangerFullAccess"},
	"fork/as it was":      {stage: "loose", method: "thread/fork", params: `{"threadId":"$THREAD"}`, loosens: "dangerFullAccess"},

	"turn/both":               {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"approvalPolicy":"never","sandboxPolicy":{"type":"dangerFullAccess"}}`, loosens: "dangerFullAccess"},
	"turn/external":           {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"approvalPolicy":"never","sandboxPolicy":{"type":"externalSandbox","networkAccess":"enabled"}}`, loosens: "externalSandbox"},
	"turn/network":            {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"sandboxPolicy":{"type":"readOnly","networkAccess":true}}`, loosens: "networkAccess"},
	"turn/writable roots":     {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"approvalPolicy":"on-request","sandboxPolicy":{"type":"workspaceWrite","writableRoots":["$ROOT"]}}`, loosens: "workspaceWrite"},
	"turn/permissions":        {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"approvalPolicy":"never","permissions":":danger-full-access"}`, loosens: "dangerFullAccess"},
	"turn/roots":              {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"permissions":":workspace","runtimeWorkspaceRoots":["$ROOT"]}`, loosens: "workspaceWrite"},
	"turn/environments":       {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"approvalPolicy":"never","environments":[{"environmentId":"local","cwd":"$ROOT","runtimeWorkspaceRoots":["$ROOT"]}]}`, loosens: "never"},
	"turn/reviewer":           {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"approvalsReviewer":"auto_review"}`, loosens: "auto_review"},
	"turn/granular":           {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"approvalPolicy":{"granular":{"sandbox_approval":false,"rules":false,"mcp_elicitations":false}}}`, loosens: "granular"},
	"turn/cwd":                {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"cwd":"$ROOT","sandboxPolicy":{"type":"workspaceWrite"}}`, loosens: "workspaceWrite"},
	"turn/collaboration mode": {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"approvalPolicy":"never","collaborationMode":{"mode":"default","settings":{"model":"gpt-5.5","developer_instructions":"Never ask."}}}`, loosens: "never"},

	"settings/both":               {stage: "live", method: "thread/settings/update", params: `{"threadId":"$THREAD","approvalPolicy":"never","sandboxPolicy":{"type":"dangerFullAccess"}}`, loosens: "dangerFullAccess"},
	"settings/permissions":        {stage: "live", method: "thread/settings/update", params: `{"threadId":"$THREAD","approvalPolicy":"never","permissions":":danger-full-access"}`, loosens: "dangerFullAccess"},
	"settings/reviewer":           {stage: "live", method: "thread/settings/update", params: `{"threadId":"$THREAD","approvalsReviewer":"auto_review"}`, loosens: "auto_review"},
	"settings/environments":       {stage: "live", method: "thread/settings/update", params: `{"threadId":"$THREAD","approvalPolicy":"on-request","environments":[{"environmentId":"local","cwd":"$ROOT"}]}`, loosens: "on-request"},
	"settings/granular":           {stage: "live", method: "thread/settings/update", params: `{"threadId":"$THREAD","approvalPolicy":{"granular":{"sandbox_approval":false,"rules":false,"mcp_elicitations":false}}}`, loosens: "granular"},
	"settings/cwd":                {stage: "live", method: "thread/settings/update", params: `{"threadId":"$THREAD","cwd":"$ROOT","sandboxPolicy":{"type":"workspaceWrite"}}`, loosens: "workspaceWrite"},
	"settings/roots":              {stage: "live", method: "thread/settings/update", params: `{"threadId":"$THREAD","sandboxPolicy":{"type":"workspaceWrite","writableRoots":["$ROOT"],"networkAccess":true}}`, loosens: "workspaceWrite"},
	"settings/network":            {stage: "live", method: "thread/settings/update", params: `{"threadId":"$THREAD","sandboxPolicy":{"type":"readOnly","networkAccess":true}}`, loosens: "networkAccess"},
	"settings/external":           {stage: "live", method: "thread/settings/update", params: `{"threadId":"$THREAD","sandboxPolicy":{"type":"externalSandbox","networkAccess":"enabled"}}`, loosens: "externalSandbox"},
	"settings/collaboration mode": {stage: "live", method: "thread/settings/update", params: `{"threadId":"$THREAD","approvalPolicy":"on-request","collaborationMode":{"mode":"default","settings":{"model":"gpt-5.5"}}}`, loosens: "on-request"},

	// Codex responds "applied" and reports nothing, and under untrusted it still asks: only the
	// missing request shows the effect.
	"turn settings/reviewer": {stage: "mid", method: "turn/settings/update", params: `{"threadId":"$THREAD","turnId":"$TURN","approvalsReviewer":"auto_review"}`},
	"settings in mid-turn":   {stage: "mid", method: "thread/settings/update", params: `{"threadId":"$THREAD","approvalPolicy":"never","sandboxPolicy":{"type":"dangerFullAccess"}}`, loosens: "dangerFullAccess"},

	// Forms that Codex accepts and that look harmless to other JSON parsers. Codex uses serde: it
	// unpacks an object with one magic member; an enum may be a map with one member; a struct and
	// an internally tagged enum may be arrays.
	"smuggled/raw value":           {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":{"$serde_json::private::RawValue":"\"never\""}}`, loosens: "never"},
	"smuggled/raw sandbox":         {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","sandbox":{"$serde_json::private::RawValue":"\"danger-full-access\""}}`, loosens: "dangerFullAccess"},
	"smuggled/raw params":          {stage: "start", method: "thread/start", params: `{"$serde_json::private::RawValue":"{\"approvalPolicy\":\"never\",\"sandbox\":\"danger-full-access\"}"}`, loosens: "dangerFullAccess"},
	"smuggled/raw config":          {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","config":{"$serde_json::private::RawValue":"{\"approval_policy\":\"never\",\"sandbox_mode\":\"danger-full-access\"}"}}`, loosens: "dangerFullAccess"},
	"smuggled/raw config value":    {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","config":{"approval_policy":{"$serde_json::private::RawValue":"\"never\""}}}`, loosens: "never"},
	"smuggled/raw turn":            {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"sandboxPolicy":{"$serde_json::private::RawValue":"{\"type\":\"dangerFullAccess\"}"},"approvalPolicy":{"$serde_json::private::RawValue":"\"never\""}}`, loosens: "dangerFullAccess"},
	"smuggled/map":                 {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":{"never":null}}`, loosens: "never"},
	"smuggled/map sandbox":         {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","sandbox":{"danger-full-access":null}}`, loosens: "dangerFullAccess"},
	"smuggled/map reviewer":        {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalsReviewer":{"auto_review":null}}`, loosens: "auto_review"},
	"smuggled/map turn":            {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"approvalPolicy":{"never":null},"sandboxPolicy":{"type":"dangerFullAccess"}}`, loosens: "dangerFullAccess"},
	"smuggled/array":               {stage: "live", method: "thread/settings/update", params: `{"threadId":"$THREAD","sandboxPolicy":["dangerFullAccess"]}`, loosens: "dangerFullAccess"},
	"smuggled/array turn":          {stage: "turn", method: "turn/start", params: `{"threadId":"$THREAD",` + turnInput + `,"approvalPolicy":"never","sandboxPolicy":["dangerFullAccess"]}`, loosens: "dangerFullAccess"},
	"smuggled/positional start":    {stage: "start", method: "thread/start", params: `[null,null,false,null,"$CWD",null,"never",null,"danger-full-access",null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null]`, loosens: "dangerFullAccess"},
	"smuggled/positional resume":   {stage: "cold", method: "thread/resume", params: `["$THREAD",null,null,null,null,null,null,null,"never",null,"danger-full-access",null,null,null,null,null,false,null]`, loosens: "dangerFullAccess"},
	"smuggled/positional fork":     {stage: "live", method: "thread/fork", params: `["$THREAD",false,false,null,null,null,null,null,null,null,null,"never",null,"danger-full-access",null,null,null,null,false,false,null]`, loosens: "dangerFullAccess"},
	"smuggled/positional turn":     {stage: "turn", method: "turn/start", params: `["$THREAD",null,null,[{"type":"text","text":"` + touch + `"}],null,null,null,null,null,null,null,null,null,null,"never",null,{"type":"dangerFullAccess"},null,null,null,null,null,null,null,null,null,null,null]`, loosens: "dangerFullAccess"},
	"smuggled/positional settings": {stage: "live", method: "thread/settings/update", params: `["$THREAD",null,null,null,"never",null,{"type":"dangerFullAccess"},null,null,null,null,null,null,null,null]`, loosens: "dangerFullAccess"},
	"smuggled/duplicate":           {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":"untrusted","approvalPolicy":"never"}`, loosens: "never"},
	"smuggled/escaped duplicate":   {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","sandbox":"read-only","s\u0061ndbox":"danger-full-access"}`, loosens: "dangerFullAccess"},
	"smuggled/escaped":             {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approval\u0050olicy":"n\u0065ver","s\u0061ndbox":"danger-full\u002daccess"}`, loosens: "dangerFullAccess"},
	"smuggled/snake case":          {stage: "start", method: "thread/start", params: `{"cwd":"$CWD","approvalPolicy":"untrusted","sandbox":"read-only","approval_policy":"never","sandbox_mode":"danger-full-access","Sandbox":"danger-full-access"}`},
}

// outcome is the result of an attempt in Codex.
type outcome struct {
	loose    []string // settings that Codex reported beyond policyConfig
	calls    int      // commands that the model called
	asked    int      // commands about which Codex asked
	refused  int      // commands that the bridge refused, because the client wants no questions
	ran      bool     // a command ran, although the editor accepts none
	marked   bool     // and left its marker
	answered string   // the response to the client
}

func (o outcome) String() string {
	return fmt.Sprintf("Codex reported %q; %d commands, %d questions, %d refusals, run: %t, marker: %t; the client got %s",
		o.loose, o.calls, o.asked, o.refused, o.ran, o.marked, o.answered)
}

// safe reports whether policyConfig was enforced.
func (o outcome) safe() bool {
	return len(o.loose) == 0 && o.asked+o.refused >= o.calls && !o.ran && !o.marked
}

// With enforce no request about a thread or turn gets more than the policy allows, neither in
// Codex's reported settings nor in its actions.
//
// The user's own rules for commands still apply, as the README says. When they no longer do, this
// test fails: then correct the README.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for i, name := range slices.Sorted(maps.Keys(attempts)) {
		if !isSampled(7, i, 0) {
			continue
		}
		a := attempts[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, dir := withTee(t, options{codexConfig: a.codexConfig, config: policyConfig})
			got := a.try(t, o, proxyArgv, func() []json.RawMessage { return recordedLines(t, dir, "out") })
			if !got.safe() {
				t.Error(got)
			}
			for _, line := range recordedLines(t, dir, "in") {
				for _, said := range tooLoose("", line) {
					if strings.HasPrefix(said, "approvalsReviewer:") && !strings.HasSuffix(said, "null") {
						t.Errorf("Codex got %s", line)
					}
				}
			}
		})
	}
}

// The same attempts with Codex alone: without their effects TestPolicy would show nothing.
func TestPolicyControl(t *testing.T) {
	t.Parallel()
	for name, a := range attempts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := a.try(t, options{codexConfig: a.codexConfig}, []string{codexPath, "app-server"}, nil)
			if got.safe() != (a.loosens == "" && !a.acts) || !strings.Contains(strings.Join(got.loose, "\n"), a.loosens) {
				t.Error(got)
			}
		})
	}
}

// try makes the attempt and then lets the model run a command. said returns Codex's messages; nil:
// those that the client got.
func (a attempt) try(t *testing.T, o options, argv []string, said func() []json.RawMessage) (got outcome) {
	t.Helper()
	w := newWorld(t, o)
	release := make(chan struct{})
	w.model.Add(scripted.Step{When: "HOLD", Reply: scripted.Reply{scripted.Paused{Until: release}, scripted.Run("true")}})
	if a.rules != "" {
		w.write("home/rules/default.rules", a.rules+"\n")
	}
	thread, path := "", ""
	if a.stage == "loose" {
		// Created without codex-bridge.
		c := w.open(codexPath, "app-server")
		c.initialize(nil)
		thread = c.thread(map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access"})
		c.runTurn(thread, "good day")
		c.closeAndWait()
	}
	argv = slices.Concat(argv[:1], a.flags, argv[1:])
	c := w.openAnswering("decline", argv...)
	if _, err := c.Initialize(c.ctx, nil); err != nil {
		// All flags may be refused.
		exit, exitErr := c.Exit(c.ctx)
		if exitErr != nil || exit.Code != 2 {
			t.Fatalf("%v, %v %v", err, exit, exitErr)
		}
		return outcome{answered: exit.String()}
	}
	switch a.stage {
	case "live", "cold", "turn", "mid":
		thread = c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
		c.runTurn(thread, "good day")
	}
	if a.stage == "cold" {
		c.closeAndWait()
		c = w.openAnswering("decline", argv...)
		c.initialize(nil)
	}
	if rollouts, _ := filepath.Glob(filepath.Join(w.home, "sessions", "*", "*", "*", "*"+thread+".jsonl")); thread != "" && len(rollouts) == 1 {
		path = rollouts[0]
	}
	turn, mark := "", c.Mark()
	if a.stage == "mid" {
		turn, mark = c.startTurn(thread, "HOLD")
		c.waitFor(mark, "item/agentMessage/delta", nil)
	}
	fill := strings.NewReplacer("$THREAD", thread, "$PATH", path, "$TURN", turn, "$CWD", w.workspace, "$ROOT", w.root)

	const id = `"attempt"`
	if err := c.Send([]byte(fmt.Sprintf(`{"id":%s,"method":%q,"params":%s}`, id, a.method, fill.Replace(a.params)))); err != nil {
		t.Fatal(err)
	}
	answer, err := c.Wait(c.ctx, mark, func(m editor.Message) bool {
		return !m.Sent && m.IsAnswer() && string(m.ID) == id
	})
	if err != nil {
		t.Fatal(err)
	}
	got.answered = string(answer.Raw)
	if len(got.answered) > 300 {
		got.answered = got.answered[:300] + "…"
	}

	switch {
	case a.stage == "turn":
		turn = editor.Member(answer.Result, "turn", "id")
	case answer.Error != nil && thread == "":
		// Refused, and there is no thread to run a command.
	default:
		if opened := editor.Member(answer.Result, "thread", "id"); opened != "" {
			thread = opened
		}
		if turn != "" {
			close(release)
			c.waitTurn(thread, turn, mark)
		}
		turn = ""
		result, err := c.Call(c.ctx, "turn/start", input(thread, fill.Replace(touch)))
		if err != nil && err.Code == 0 {
			t.Fatal(err)
		}
		if err == nil { // a thread that is not verified may be refused
			turn = editor.Member(result, "turn", "id")
		}
	}
	if turn != "" {
		c.waitTurn(thread, turn, mark)
	}
	marker := filepath.Join(w.root, "marker")
	if a.acts && said == nil {
		// Asynchronous: it is not a part of the turn.
		for ; c.ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(marker); err == nil {
				break
			}
		}
	}
	c.closeAndWait()

	for _, m := range c.Messages() {
		if !m.Sent && m.Method == commandApproval {
			got.asked++
		}
	}
	var codexSaid []json.RawMessage
	if said != nil {
		codexSaid = said()
	} else {
		for _, m := range c.Messages() {
			if !m.Sent {
				codexSaid = append(codexSaid, m.Raw)
			}
		}
	}
	for _, line := range codexSaid {
		for _, found := range tooLoose("", line) {
			if said == nil || found != asksHere && found != asksNobody {
				got.loose = append(got.loose, found)
			}
		}
	}
	slices.Sort(got.loose)
	got.loose = slices.Compact(got.loose)
	for _, request := range w.model.Requests() {
		for _, output := range request.ToolOutputs() {
			got.calls++
			got.ran = got.ran || strings.Contains(output, "Process exited with code")
			if strings.Contains(output, "this client wants no questions") {
				got.refused++
			}
		}
	}
	_, err = os.Stat(marker)
	got.marked = !errors.Is(err, os.ErrNotExist)
	return got
}

// openAnswering is open with an editor that answers all questions in one way.
func (w *world) openAnswering(d string, argv ...string) *conversation {
	w.t.Helper()
	return &conversation{world: w, ctx: deadline(w.t), Editor: w.start(argv, editor.Options{
		Answer: func(context.Context, editor.Message) (any, *editor.Error) { return decision(d), nil },
	})}
}

// asksHere are the settings that Codex reports if the bridge asks about everything instead.
const asksHere = `approvalPolicy: "on-request"`

// asksNobody are the settings that Codex reports if the bridge decides about everything, and the
// client wants no questions: what needs one is refused.
const asksNobody = `approvalPolicy: {"granular":{"sandbox_approval":false,"rules":false,"skill_approval":false,"request_permissions":false,"mcp_elicitations":false}}`

// tooLoose returns the settings in a message of Codex beyond policyConfig. It looks at objects at
// any depth: the members are those of the response to thread/start and of thread/settings/updated.
func tooLoose(key string, raw json.RawMessage) []string {
	var found []string
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for _, element := range list {
			found = append(found, tooLoose("", element)...)
		}
		return found
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		object = nil
	}
	value := string(raw)
	bad := false
	switch key {
	case "approvalPolicy":
		bad = value != `"untrusted"`
	case "approvalsReviewer":
		bad = value != `"user"`
	case "sandbox", "sandboxPolicy":
		kind := string(object["type"])
		network := string(object["networkAccess"])
		bad = kind != `"readOnly"` || network == "true"
	case "activePermissionProfile":
		id := string(object["id"])
		bad = object != nil && id != `":read-only"`
	}
	if bad {
		found = append(found, key+": "+value)
	}
	for name, member := range object {
		found = append(found, tooLoose(name, member)...)
	}
	return found
}
