package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

// Decide checks one message of a client. The result is the same under audit and enforce; under off
// every message passes. m must stay unchanged while the caller uses the result.
func (p *Policy) Decide(m *rpc.Message, st State) Decision {
	if p.mode == config.Off || m.Kind != rpc.Request && m.Kind != rpc.Notification {
		return Decision{Verdict: Pass, Message: m.Bytes()}
	}
	if err := m.CheckParams(); err != nil {
		return Decision{Verdict: Deny, Err: NewRefusalError(err.Code, Refusal{
			Method: m.Method, Rule: RuleProtocol, Field: "params", Origin: p.OriginOrDefault(RuleMode), Reason: err.Message, Hint: "send an object",
		})}
	}
	return p.CheckForm(p.decide(m, st), m, checkParams, m.Method, "params")
}

func (p *Policy) decide(m *rpc.Message, st State) Decision {
	if d, refused := p.checkTrace(m); refused {
		return d
	}
	known, verdict, ok := p.MethodVerdict(m)
	if verdict == methods.Ask && st.Consented {
		verdict = known.Override("allow")
	}
	if p.section.Missing != "" && verdict != methods.Deny && needsBundle(known, ok) {
		return p.RefuseMissing(m.Method)
	}
	switch verdict {
	case methods.Pass, methods.Rewrite:
		if d, refused := p.decideClientCommand(m, st); refused {
			return d
		}
	}
	switch verdict {
	case methods.Pass:
		if !ok || known.Verdict != methods.Pass { // the configuration allows it without a check
			return Decision{Verdict: Pass, Message: m.Bytes()}
		}
		return p.dropNewFields(m, st)
	case methods.Deny, methods.Ask:
		return p.RefuseMethod(known, verdict, ok)
	}
	row := p.methods[m.Method]
	c := newFindings(p.strictest(st.Policies).newRequest(row, m, st))
	if c.folders.checkRequest() {
		c.dropUnknownFields()
		for i := range row.rules {
			if c.err == nil {
				row.rules[i].apply(c, row.rules[i].fields)
			}
		}
	}
	return c.result()
}

// request is a message of a client while rules decide about it, with what Codex gets in its place.
type request struct {
	p      *Policy
	spec   *methodSpec
	m      *rpc.Message
	params rpc.Value
	st     State

	patch        *rpc.Patch // nil until the first change
	changes      []Change
	err          *rpc.Error
	lost         bool   // err refuses an override that Codex must not lose
	wants        []Want // the facts that State lacks
	configFolder string // of WantConfiguration; "" for that of the thread
}

// newRequest returns a message of a client before the first rule.
func (p *Policy) newRequest(spec *methodSpec, m *rpc.Message, st State) *request {
	return &request{p: p, spec: spec, m: m, params: m.Params, st: st}
}

// folders are a request and the folders in which its thread works.
type folders struct {
	*request
	workspace         string // canonical; "" if unknown
	allowedRoots      []string
	rootsExpanded     bool     // allowedRoots is set
	narrowed          string   // why a turn may get at most read-only, because of its folder
	newlyWritable     []string // Decision.Writable
	removedRoots      []string // of the request that opens a thread
	removedInnerRoots []string // those of them that are inside a kept root or a temporary folder
}

// findings are what the rules of a message have found so far. fieldRules says which rule gives each, and which
// rules read it.
type findings struct {
	*request
	folders    folders
	opened     openedIn
	project    project
	overlay    overlaySettings
	keys       requiredKeys
	approval   sentApproval
	reviewer   json.RawMessage // SentSettings.Reviewer
	sandbox    threadSandbox
	profile    threadProfile
	turn       turnSandbox
	namesModel bool // the overlay has an allowed model
}

// newFindings returns the findings about a message before its first rule.
func newFindings(r *request) *findings { return &findings{request: r, folders: folders{request: r}} }

// checkRequest checks the size, the form and the thread of a message before its fields.
func (c *folders) checkRequest() bool {
	switch {
	case c.m.Truncated():
		c.refuse(rpc.CodeTooLarge, "params", "codex.max_message", "the message has more values than the bridge reads", "send less")
	case c.params.Kind() != rpc.Object:
		// Measured with Codex 0.169: it answers -32600 "missing field `params`", for null too.
		c.refuse(rpc.CodeInvalidParams, "params", RuleProtocol, "params is "+c.params.Kind().String(), "send an object")
	case c.spec.noThread:
	case c.spec.opensThread:
		c.matchThread()
	case !c.matchThread():
		c.refuse(rpc.CodeNotVerified, "params.threadId", RuleMode, "the thread's settings are not verified", "resume the thread first")
	default:
		c.workspace = c.st.Thread.Workspace
	}
	if c.err == nil {
		c.checkPathCount()
	}
	return c.err == nil
}

// matchThread reports whether State.Thread is the thread that the message names. If not, it clears
// State.Thread.
func (c *request) matchThread() bool {
	if c.st.Thread == nil || !c.params.Get("threadId").Is(c.st.Thread.ID) {
		c.st.Thread = nil
		return false
	}
	return true
}

func (c *findings) result() Decision {
	if c.err == nil && c.spec.confirmed {
		c.refuseChangedSettings()
	}
	want := c.refuseUnknown()
	if c.err != nil {
		d := Decision{Verdict: Deny, Err: c.err, Want: want}
		if want == WantConfiguration {
			d.ConfigCwd, d.Workspace = cmp.Or(c.configFolder, c.project.configCwd), c.folders.workspace
		}
		return d
	}
	d := Decision{Verdict: Pass, Message: c.m.Bytes(), Gated: c.approval.gated, Writable: c.folders.newlyWritable}
	if c.patch != nil && c.patch.Changed() {
		d.Verdict, d.Message, d.Changes = Rewrite, c.patch.Bytes(), c.changes
	}
	// Earlier messages have reported the folders of a workspace-write thread.
	if t := c.st.Thread; t != nil && !c.spec.opensThread && (c.turn.hasPolicy || c.turn.namesBridgeProfile) && t.Sandbox != WorkspaceWrite.String() {
		d.Writable = slices.Concat(d.Writable, []string{t.Workspace}, t.Profile.Roots)
	}
	if c.spec.opensThread {
		d.Sent, d.Workspace, d.ConfigCwd = c.sentSettings(), c.opened.sent, c.project.configCwd
		if c.project.addsDistrust() {
			d.Untrusted = c.project.untrustedFolder
		}
	}
	return d
}

// sentSettings returns what Codex gets in a request that opens a thread.
func (c *findings) sentSettings() *SentSettings {
	sent := &SentSettings{
		Method: c.m.Method, Approval: c.approval.sent, Gated: c.approval.gated, Reviewer: c.reviewer, Sandbox: c.sandbox.mode,
		Workspace: c.opened.sent, CwdWithin: c.opened.within, Project: c.project.configCwd, Profile: c.profile.Profile, ProfileName: c.profile.variant,
		Trusts: c.folders.storesTrust(), KnownFolder: c.st.KnownFolder, InnerRoots: c.folders.requestedRoots(),
	}
	if defaults := c.st.Defaults; defaults != nil {
		sent.WithoutTmpdir, sent.WithoutSlashTmp = defaults.NoTmpdir, defaults.NoSlashTmp
	}
	return sent
}

// refuseUnknownSettings refuses to open a thread with settings that Codex has recorded and the bridge
// can't read. They may deny more than the bridge would find out.
func (c *request) refuseUnknownSettings() {
	var omitted []string
	if IsUnset(c.params.Get("approvalPolicy")) {
		omitted = append(omitted, "approvalPolicy")
	}
	if IsUnset(c.params.Get("sandbox")) && IsUnset(c.params.Get(permissionsKey)) {
		omitted = append(omitted, "sandbox or permissions")
	}
	c.refuse(rpc.CodeRefused, "params.threadId", RuleMode, "Codex's record of the thread's settings can't be read: "+c.st.StoredProblem,
		"send "+strings.Join(omitted, ", and "))
}

// refuseChangedSettings refuses settings that the policy does not allow as they are. The client would
// wait for a notification of what it sent.
func (c *request) refuseChangedSettings() {
	for _, change := range c.changes {
		if !change.restricts() {
			continue
		}
		reason, _ := strings.CutSuffix(change.Reason, "; "+gatedReason) // Codex gets no setting
		hint := "choose a value that the policy allows"
		if change.Rule == RuleApproval && c.st.Thread != nil && c.st.Thread.Sandbox == ReadOnly.String() && c.p.AllowsWriting() {
			// In a terminal a user chooses both at once, most often to let Codex write.
			hint += "; the sandbox is chosen when a thread opens, in a terminal by codex-bridge -s workspace-write"
		}
		c.err = NewRefusalError(rpc.CodeRefused, Refusal{
			Method: c.m.Method, Rule: change.Rule, Reason: reason, Field: change.Field, Origin: c.p.OriginOrDefault(change.Rule), Hint: hint, Allowed: change.To,
		})
		return
	}
}

// MaxChanges bounds the changes to one message. The bridge reports and logs each; without a bound
// one message took it 15 seconds.
const MaxChanges = 1000

// TooManyChanges is the reason of a refusal of a message with more than MaxChanges changes.
const TooManyChanges = "it needs more than 1000 changes"

// set sets a member of object. field is its path below params.
func (c *request) set(object rpc.Value, key, field string, to []byte, rule, reason string) {
	c.recordChange(field, object.Get(key), to, rule, reason)
	c.ensurePatch().Set(object, key, to)
}

// drop removes a member of object.
func (c *request) drop(object rpc.Value, key, field, rule, reason string) {
	c.recordChange(field, object.Get(key), nil, rule, reason)
	c.ensurePatch().Delete(object, key)
}

// setField sets a member of params.
func (c *request) setField(key string, to []byte, rule, reason string) {
	c.set(c.params, key, key, to, rule, reason)
}

func (c *request) dropField(key, rule, reason string) {
	c.drop(c.params, key, key, rule, reason)
}

func (c *request) recordChange(field string, from rpc.Value, to []byte, rule, reason string) {
	if len(c.changes) == MaxChanges && c.err == nil {
		c.refuse(rpc.CodeTooLarge, "params", rule, TooManyChanges, "send fewer forbidden values")
	}
	// The parser reuses the line for its next message.
	c.changes = append(c.changes, Change{"params." + field, rule, reason, c.p.RuleOrigin(rule), bytes.Clone(from.Raw()), to, false})
}

func (c *request) ensurePatch() *rpc.Patch {
	if c.patch == nil {
		c.patch = rpc.NewPatch(c.m)
	}
	return c.patch
}

// requireArray returns an array of params. It refuses the message if the field is something else.
func (c *request) requireArray(field, elements string) (v rpc.Value, ok bool) {
	if v = c.params.Get(field); v.Kind() != rpc.Array {
		c.refuse(rpc.CodeInvalidParams, "params."+field, RuleProtocol, field+" is "+v.Kind().String(), "send an array of "+elements)
		return v, false
	}
	return v, true
}

// refuse ends the decision with an error.
func (c *request) refuse(code rpc.Code, field, rule, reason, hint string) {
	c.err = NewRefusalError(code, Refusal{Method: c.m.Method, Rule: rule, Reason: reason, Field: field, Origin: c.p.OriginOrDefault(rule), Hint: hint})
}
