package reported

import (
	"encoding/json"
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// Verify compares Codex's response to a request that opens a thread with the policy and with the
// sent settings. It returns nil if the thread may take turns, else an error with code -32013 that
// names the field and both values.
//
// Measured with Codex 0.169: it ignores the request's settings for a loaded thread, and restores
// those of a stored one. Its own configuration can override them too.
//
// Call NewThread for State.Thread of later decisions.
func Verify(p *policy.Policy, sent *policy.SentSettings, result rpc.Value, st policy.State) *rpc.Error {
	if p.Mode() == config.Off {
		return nil
	}
	if sent == nil {
		sent = &policy.SentSettings{}
	}
	e := verifier{
		p: p, st: st, method: sent.Method, at: "result.",
		approval: result.Get("approvalPolicy"), reviewer: result.Get("approvalsReviewer"),
		sandbox: result.Get("sandbox"), sandboxName: "sandbox", profile: result.Get("activePermissionProfile"),
		model: result.Get("model"), effort: result.Get("reasoningEffort"), effortName: "reasoningEffort",
		cwd: result.Get("cwd"), roots: result.Get("runtimeWorkspaceRoots"),
	}
	e.gated, e.expectedProfile = sent.IsGated(st), sent.Profile
	e.checkCwd(sent)
	e.checkFields()
	e.compareSent(sent)
	environments := result.Get("thread").Get("environments")
	e.checkEnvironments(environments)
	e.checkPolicyFiles(environments)
	return e.err
}

// VerifySettings checks the threadSettings of a thread/settings/updated of State.Thread, which
// apply to the next turn.
func VerifySettings(p *policy.Policy, settings rpc.Value, st policy.State) *rpc.Error {
	if p.Mode() == config.Off {
		return nil
	}
	e := verifier{
		p: p, st: st, method: "thread/settings/updated", at: "params.threadSettings.",
		approval: settings.Get("approvalPolicy"), reviewer: settings.Get("approvalsReviewer"),
		sandbox: settings.Get("sandboxPolicy"), sandboxName: "sandboxPolicy", profile: settings.Get("activePermissionProfile"),
		model: settings.Get("model"), effort: settings.Get("effort"), effortName: "effort",
		cwd: settings.Get("cwd"),
	}
	sent := &policy.SentSettings{}
	if st.Thread == nil || st.Thread.Workspace == "" {
		e.fail("cwd", policy.RuleMode, "the thread's settings are not verified", nil, nil)
		return e.err
	}
	sent.CwdWithin, e.gated, e.expectedProfile = st.Thread.Workspace, st.Thread.Gated, st.Thread.Profile
	e.checkCwd(sent)
	e.checkFields()
	e.checkCollaboration(settings.Get("collaborationMode"))
	e.checkEnvironments(settings.Get("environments"))
	return e.err
}

// verifier checks the settings that Codex echoes.
type verifier struct {
	p               *policy.Policy
	st              policy.State
	method          string
	at              string // the path of the fields
	err             *rpc.Error
	gated           bool // the bridge asks in Codex's place
	expectedProfile policy.Profile

	approval, reviewer, sandbox, profile, model, effort, cwd, roots rpc.Value
	sandboxName, effortName                                         string

	folder    string // the canonical cwd
	workspace string // canonical
	allowed   []string
}

// fail stores the first mismatch.
func (e *verifier) fail(field, rule, reason string, sent, echoed json.RawMessage) {
	if e.err != nil {
		return
	}
	field = e.at + field
	hint := "start a new thread, or change the thread's settings"
	if rule == policy.RuleModels {
		hint = policy.NameModel
	}
	e.err = policy.NewRefusalError(rpc.CodeNotVerified, policy.Refusal{
		Method: e.method, Rule: rule, Reason: reason, Field: field, Origin: e.p.OriginOrDefault(rule),
		Hint: hint, Sent: sent, Echoed: echoed,
	})
}

func (e *verifier) failValue(field, rule, reason string, v rpc.Value) {
	e.fail(field, rule, reason, nil, policy.CloneRaw(v))
}

// checkCwd finds the workspace: the echoed cwd, or the known workspace that must contain it.
func (e *verifier) checkCwd(sent *policy.SentSettings) {
	folder, err := e.st.Canonical(policy.TextOf(e.cwd))
	if err != nil {
		e.failValue("cwd", policy.RuleRoots, "the bridge can't resolve the cwd", e.cwd)
		return
	}
	e.folder, e.workspace = folder, folder
	if sent.CwdWithin != "" {
		e.workspace = sent.CwdWithin
	}
	e.allowed = e.p.Allowed(e.st, e.workspace)
	switch {
	case sent.Workspace != "" && folder != sent.Workspace:
		e.fail("cwd", policy.RuleRoots, "Codex uses another cwd than the bridge sent", policy.JSONString(sent.Workspace), policy.CloneRaw(e.cwd))
	case sent.CwdWithin != "" && !e.reachable(folder):
		e.fail("cwd", policy.RuleRoots, "Codex's cwd is outside the thread's workspace and the writable roots", policy.JSONString(sent.CwdWithin), policy.CloneRaw(e.cwd))
	}
}

func (e *verifier) reachable(path string) bool {
	return e.p.Reachable(&e.st, e.allowed, e.workspace, path)
}

// checkFields checks every field against the policy. A missing field or an unknown form is a
// mismatch.
func (e *verifier) checkFields() {
	p := e.p
	kept := e.approval.Is(policy.GatedApproval) || policy.IsReduced(e.approval)
	switch {
	case e.gated && kept && !p.HasGate():
		e.failValue("approvalPolicy", policy.RuleGate, "neither Codex nor the bridge asks any more", e.approval)
	case e.gated && kept:
	case policy.IsReduced(e.approval) && p.AllowsReduced(false):
	case !p.AllowsApproval(e.approval):
		e.failValue("approvalPolicy", policy.RuleApproval, policy.FormatEchoed(e.approval)+" is not in "+p.ApprovalList(), e.approval)
	}
	if !p.AllowsReviewer(e.reviewer) {
		e.failValue("approvalsReviewer", policy.RuleReviewers, policy.FormatEchoed(e.reviewer)+" is not in "+p.ReviewerList(), e.reviewer)
	}
	e.checkSandbox()
	e.checkProfile()
	e.checkModel("model", e.model)
	e.checkEffort(e.effortName, e.effort)
	if e.mayWriteRoots() {
		e.checkRoots("runtimeWorkspaceRoots", e.roots)
	}
}

// mayWriteRoots reports whether workspace roots are writable, now or after a turn raises the
// sandbox to workspace-write.
func (e *verifier) mayWriteRoots() bool {
	return e.p.MaxLevel() == policy.WorkspaceWrite || policy.EchoedLevel(e.sandbox) == policy.WorkspaceWrite
}

func (e *verifier) checkModel(field string, v rpc.Value) {
	if name, ok := v.Text(); e.p.LimitsModels() && (!ok || !e.p.AllowsModel(name)) {
		e.failValue(field, policy.RuleModels, policy.FormatEchoed(v)+" is not in "+e.p.ModelList(), v)
	}
}

func (e *verifier) checkEffort(field string, v rpc.Value) {
	if name, ok := v.Text(); e.p.LimitsEfforts() && !policy.IsUnset(v) && (!ok || !e.p.AllowsEffort(name)) {
		e.failValue(field, policy.RuleEfforts, policy.FormatEchoed(v)+" is not in "+e.p.EffortList(), v)
	}
}

func (e *verifier) checkCollaboration(v rpc.Value) {
	if policy.IsUnset(v) {
		return
	}
	settings := v.Get("settings")
	e.checkModel("collaborationMode.settings.model", settings.Get("model"))
	e.checkEffort("collaborationMode.settings.reasoning_effort", settings.Get("reasoning_effort"))
}

// compareSent compares the echoed settings with the sent ones. Stricter values pass, and those of a
// loaded thread, which checkFields has compared with the policy.
func (e *verifier) compareSent(sent *policy.SentSettings) {
	if sent.Approval != nil && !sent.Loaded {
		if d, err := rpc.ParseValue(sent.Approval); err != nil || policy.LooserApproval(d.Root(), e.approval) {
			e.fail("approvalPolicy", policy.RuleApproval, "Codex asks less than the sent value requires", sent.Approval, policy.CloneRaw(e.approval))
		}
	}
	if sent.Reviewer != nil && !sent.Loaded {
		d, err := rpc.ParseValue(sent.Reviewer)
		if err != nil || !sameReviewer(d.Root(), e.reviewer) && !e.reviewer.Is("user") {
			e.fail("approvalsReviewer", policy.RuleReviewers, "Codex uses another reviewer than the bridge sent", sent.Reviewer, policy.CloneRaw(e.reviewer))
		}
	}
	id := e.profile.Get("id")
	switch l, own := policy.EchoedLevel(e.sandbox), e.hasOwnProfile(); {
	case l == policy.WorkspaceWrite && (sent.ProfileName != "" && !id.Is(sent.ProfileName) || e.expectedProfile.Defined && !own):
		e.fail("activePermissionProfile", policy.RuleProtected, "commands could write protected paths or policy files", policy.JSONString(sent.ProfileName), policy.CloneRaw(e.profile))
	case l == policy.ReadOnly && e.expectedProfile.User != "" && !own:
		e.fail("activePermissionProfile", policy.RuleUser, "commands could read what the permissions profile "+e.expectedProfile.User+" denies", policy.JSONString(sent.ProfileName), policy.CloneRaw(e.profile))
	case l == policy.ReadOnly && e.expectedProfile.HasReadOnly() && !own:
		e.fail("activePermissionProfile", policy.RuleSecrets, "commands could read secrets of the bridge", policy.JSONString(sent.ProfileName), policy.CloneRaw(e.profile))
	}
	if asked, ok := policy.ParseMode(sent.Sandbox); ok && policy.EchoedLevel(e.sandbox) > asked && !sent.Loaded {
		e.fail(e.sandboxName, policy.RuleSandbox, "Codex's sandbox allows more than the bridge sent", policy.JSONString(sent.Sandbox), policy.CloneRaw(e.sandbox))
	}
}

// VerifyProfile returns an error if paths in the thread's folders or secrets need protection from its
// commands, and the request defined no profile for them. A read-only thread needs the profile too,
// because a turn may raise its sandbox. Unlike Verify, it applies only to the response, because
// Codex keeps the profile of a loaded thread.
func VerifyProfile(p *policy.Policy, sent *policy.SentSettings, result rpc.Value, st policy.State) *rpc.Error {
	workspace := sent.CwdWithin
	if folder, err := st.Canonical(policy.TextOf(result.Get("cwd"))); err == nil && workspace == "" {
		workspace = folder
	}
	needless := len(st.Secrets) == 0 && (p.MaxLevel() == policy.ReadOnly || !policy.IsUsableWorkspace(st, workspace))
	if p.Mode() != config.Enforce || sent.Profile.Defined || needless {
		return nil
	}
	folders := []string{workspace}
	for root := range result.Get("runtimeWorkspaceRoots").Elements() {
		if path, err := st.Canonical(policy.TextOf(root)); err == nil {
			folders = append(folders, path)
		}
	}
	outer := folders
	if result.Get("runtimeWorkspaceRoots").Kind() == rpc.Array {
		outer = folders[1:] // the thread can't write its workspace if that is none of them
	}
	hasInner := slices.ContainsFunc(sent.InnerRoots, func(root string) bool { return st.IsInnerRoot(st.WithTemps(outer), root) })
	if len(p.ProfileEntries(st, folders, nil)) == 0 && !hasInner {
		return nil
	}
	profile := result.Get("activePermissionProfile")
	e := verifier{p: p, st: st, method: sent.Method, at: "result."}
	e.fail("activePermissionProfile", policy.RuleProtected, "the request defined no profile that protects the thread's policy files, protected paths and the bridge's secrets", nil, policy.CloneRaw(profile))
	return e.err
}

func sameReviewer(a, b rpc.Value) bool {
	x, _ := a.Text()
	y, _ := b.Text()
	return policy.NormalizeReviewer(x) == policy.NormalizeReviewer(y)
}
