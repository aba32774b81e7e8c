package policy

import (
	"encoding/json"
	"slices"

	"codex-bridge.example/bridge/config"
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
func (p *Policy) Verify(sent *SentSettings, result rpc.Value, st State) *rpc.Error {
	if p.mode == config.Off {
		return nil
	}
	if sent == nil {
		sent = &SentSettings{}
	}
	e := verifier{
		p: p, st: st, method: sent.Method, at: "result.",
		approval: result.Get("approvalPolicy"), reviewer: result.Get("approvalsReviewer"),
		sandbox: result.Get("sandbox"), sandboxName: "sandbox", profile: result.Get("activePermissionProfile"),
		model: result.Get("model"), effort: result.Get("reasoningEffort"), effortName: "reasoningEffort",
		cwd: result.Get("cwd"), roots: result.Get("runtimeWorkspaceRoots"),
	}
	e.gated, e.expectedProfile = sent.isGated(st), sent.Profile
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
func (p *Policy) VerifySettings(settings rpc.Value, st State) *rpc.Error {
	if p.mode == config.Off {
		return nil
	}
	e := verifier{
		p: p, st: st, method: "thread/settings/updated", at: "params.threadSettings.",
		approval: settings.Get("approvalPolicy"), reviewer: settings.Get("approvalsReviewer"),
		sandbox: settings.Get("sandboxPolicy"), sandboxName: "sandboxPolicy", profile: settings.Get("activePermissionProfile"),
		model: settings.Get("model"), effort: settings.Get("effort"), effortName: "effort",
		cwd: settings.Get("cwd"),
	}
	sent := &SentSettings{}
	if st.Thread == nil || st.Thread.Workspace == "" {
		e.fail("cwd", RuleMode, "the thread's settings are not verified", nil, nil)
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
	p               *Policy
	st              State
	method          string
	at              string // the path of the fields
	err             *rpc.Error
	gated           bool // the bridge asks in Codex's place
	expectedProfile Profile

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
	if rule == ruleModels {
		hint = nameModel
	}
	e.err = NewRefusalError(rpc.CodeNotVerified, Refusal{
		Method: e.method, Rule: rule, Reason: reason, Field: field, Origin: e.p.OriginOrDefault(rule),
		Hint: hint, Sent: sent, Echoed: echoed,
	})
}

func (e *verifier) failValue(field, rule, reason string, v rpc.Value) {
	e.fail(field, rule, reason, nil, CloneRaw(v))
}

// checkCwd finds the workspace: the echoed cwd, or the known workspace that must contain it.
func (e *verifier) checkCwd(sent *SentSettings) {
	folder, err := e.st.Canonical(textOf(e.cwd))
	if err != nil {
		e.failValue("cwd", ruleRoots, "the bridge can't resolve the cwd", e.cwd)
		return
	}
	e.folder, e.workspace = folder, folder
	if sent.CwdWithin != "" {
		e.workspace = sent.CwdWithin
	}
	e.allowed = e.p.allowed(e.st, e.workspace)
	switch {
	case sent.Workspace != "" && folder != sent.Workspace:
		e.fail("cwd", ruleRoots, "Codex uses another cwd than the bridge sent", JSONString(sent.Workspace), CloneRaw(e.cwd))
	case sent.CwdWithin != "" && !e.reachable(folder):
		e.fail("cwd", ruleRoots, "Codex's cwd is outside the thread's workspace and the writable roots", JSONString(sent.CwdWithin), CloneRaw(e.cwd))
	}
}

func (e *verifier) reachable(path string) bool {
	return e.p.reachable(&e.st, e.allowed, e.workspace, path)
}

// checkFields checks every field against the policy. A missing field or an unknown form is a
// mismatch.
func (e *verifier) checkFields() {
	p := e.p
	kept := e.approval.Is(gatedApproval) || isReduced(e.approval)
	switch {
	case e.gated && kept && !p.gate:
		e.failValue("approvalPolicy", ruleGate, "neither Codex nor the bridge asks any more", e.approval)
	case e.gated && kept:
	case isReduced(e.approval) && p.allowsReduced(false):
	case !p.allowsApproval(e.approval):
		e.failValue("approvalPolicy", ruleApproval, formatEchoed(e.approval)+" is not in "+p.approvalList(), e.approval)
	}
	if !p.allowsReviewer(e.reviewer) {
		e.failValue("approvalsReviewer", ruleReviewers, formatEchoed(e.reviewer)+" is not in "+p.reviewerList(), e.reviewer)
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
	return e.p.maxLevel == WorkspaceWrite || echoedLevel(e.sandbox) == WorkspaceWrite
}

func (e *verifier) checkModel(field string, v rpc.Value) {
	if name, ok := v.Text(); e.p.LimitsModels() && (!ok || !e.p.AllowsModel(name)) {
		e.failValue(field, ruleModels, formatEchoed(v)+" is not in "+e.p.modelList(), v)
	}
}

func (e *verifier) checkEffort(field string, v rpc.Value) {
	if name, ok := v.Text(); e.p.LimitsEfforts() && !IsUnset(v) && (!ok || !e.p.allowsEffort(name)) {
		e.failValue(field, ruleEfforts, formatEchoed(v)+" is not in "+e.p.effortList(), v)
	}
}

func (e *verifier) checkCollaboration(v rpc.Value) {
	if IsUnset(v) {
		return
	}
	settings := v.Get("settings")
	e.checkModel("collaborationMode.settings.model", settings.Get("model"))
	e.checkEffort("collaborationMode.settings.reasoning_effort", settings.Get("reasoning_effort"))
}

// compareSent compares the echoed settings with the sent ones. Stricter values pass, and those of a
// loaded thread, which checkFields has compared with the policy.
func (e *verifier) compareSent(sent *SentSettings) {
	if sent.Approval != nil && !sent.Loaded {
		if d, err := rpc.ParseValue(sent.Approval); err != nil || looserApproval(d.Root(), e.approval) {
			e.fail("approvalPolicy", ruleApproval, "Codex asks less than the sent value requires", sent.Approval, CloneRaw(e.approval))
		}
	}
	if sent.Reviewer != nil && !sent.Loaded {
		d, err := rpc.ParseValue(sent.Reviewer)
		if err != nil || !sameReviewer(d.Root(), e.reviewer) && !e.reviewer.Is("user") {
			e.fail("approvalsReviewer", ruleReviewers, "Codex uses another reviewer than the bridge sent", sent.Reviewer, CloneRaw(e.reviewer))
		}
	}
	id := e.profile.Get("id")
	switch l, own := echoedLevel(e.sandbox), e.hasOwnProfile(); {
	case l == WorkspaceWrite && (sent.ProfileName != "" && !id.Is(sent.ProfileName) || e.expectedProfile.Defined && !own):
		e.fail("activePermissionProfile", ruleProtected, "commands could write protected paths or policy files", JSONString(sent.ProfileName), CloneRaw(e.profile))
	case l == ReadOnly && e.expectedProfile.User != "" && !own:
		e.fail("activePermissionProfile", ruleUser, "commands could read what the permissions profile "+e.expectedProfile.User+" denies", JSONString(sent.ProfileName), CloneRaw(e.profile))
	case l == ReadOnly && e.expectedProfile.hasReadOnly() && !own:
		e.fail("activePermissionProfile", ruleSecrets, "commands could read secrets of the bridge", JSONString(sent.ProfileName), CloneRaw(e.profile))
	}
	if asked, ok := parseMode(sent.Sandbox); ok && echoedLevel(e.sandbox) > asked && !sent.Loaded {
		e.fail(e.sandboxName, ruleSandbox, "Codex's sandbox allows more than the bridge sent", JSONString(sent.Sandbox), CloneRaw(e.sandbox))
	}
}

// VerifyProfile returns an error if paths in the thread's folders or secrets need protection from its
// commands, and the request defined no profile for them. A read-only thread needs the profile too,
// because a turn may raise its sandbox. Unlike Verify, it applies only to the response, because
// Codex keeps the profile of a loaded thread.
func (p *Policy) VerifyProfile(sent *SentSettings, result rpc.Value, st State) *rpc.Error {
	workspace := sent.CwdWithin
	if folder, err := st.Canonical(textOf(result.Get("cwd"))); err == nil && workspace == "" {
		workspace = folder
	}
	needless := len(st.Secrets) == 0 && (p.maxLevel == ReadOnly || !isUsableWorkspace(st, workspace))
	if p.mode != config.Enforce || sent.Profile.Defined || needless {
		return nil
	}
	folders := []string{workspace}
	for root := range result.Get("runtimeWorkspaceRoots").Elements() {
		if path, err := st.Canonical(textOf(root)); err == nil {
			folders = append(folders, path)
		}
	}
	outer := folders
	if result.Get("runtimeWorkspaceRoots").Kind() == rpc.Array {
		outer = folders[1:] // the thread can't write its workspace if that is none of them
	}
	hasInner := slices.ContainsFunc(sent.InnerRoots, func(root string) bool { return st.isInnerRoot(st.withTemps(outer), root) })
	if len(p.profileEntries(st, folders, nil)) == 0 && !hasInner {
		return nil
	}
	profile := result.Get("activePermissionProfile")
	e := verifier{p: p, st: st, method: sent.Method, at: "result."}
	e.fail("activePermissionProfile", ruleProtected, "the request defined no profile that protects the thread's policy files, protected paths and the bridge's secrets", nil, CloneRaw(profile))
	return e.err
}

func sameReviewer(a, b rpc.Value) bool {
	x, _ := a.Text()
	y, _ := b.Text()
	return normalizeReviewer(x) == normalizeReviewer(y)
}
