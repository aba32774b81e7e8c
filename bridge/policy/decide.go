package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/methods"
	"codex-bridge/rpc"
)

// Decide judges one message of a client. The decision does not depend on the
// mode, except that off passes everything.
func (p *Policy) Decide(m *rpc.Message, st State) Decision {
	if p.mode == config.Off || m.Kind != rpc.Request && m.Kind != rpc.Notification {
		return Decision{Verdict: Pass, Message: m.Bytes()}
	}
	return p.plain(p.decide(m, st), m, plainParams, m.Method, "params")
}

func (p *Policy) decide(m *rpc.Message, st State) Decision {
	if d, refused := p.unanswerable(m); refused {
		return d
	}
	known, verdict, ok := p.verdict(m)
	if verdict == methods.Ask && st.Consented {
		verdict = known.Override("allow")
	}
	switch verdict {
	case methods.Pass, methods.Rewrite:
		if d, refused := p.ownCommand(m, st); refused {
			return d
		}
	}
	switch verdict {
	case methods.Pass:
		return Decision{Verdict: Pass, Message: m.Bytes()}
	case methods.Deny, methods.Ask:
		return p.refused(known, verdict, ok)
	}
	row := p.methods[m.Method]
	c := call{p: p.tightened(st.Policies), row: row, m: m, params: m.Params, st: st}
	if c.admit() {
		c.lookAlikes()
		for i := range row.rules {
			if c.err == nil {
				row.rules[i].apply(&c, row.rules[i].fields)
			}
		}
	}
	return c.decision()
}

// NeedsConsent reports whether policy.methods wants a person asked about a client's message.
func (p *Policy) NeedsConsent(m *rpc.Message) bool {
	_, verdict, _ := p.verdict(m)
	return p.mode == config.Enforce && verdict == methods.Ask
}

// DeniesMethod reports whether policy.methods denies a method, and does not only lack to allow it.
func (p *Policy) DeniesMethod(method string) bool { return p.overrides[method] == "deny" }

// MethodOrigin returns the key of policy.methods that wants a person asked about a method, and where it is set.
func (p *Policy) MethodOrigin(method string) (key, origin string) {
	key = config.Key("policy", "methods", method)
	return key, p.place(key)
}

// unanswerable refuses a request that Codex would drop without an answer.
//
// Measured: of what the bridge takes for a message Codex drops those whose trace is neither
// null nor an object with texts, or null, for traceparent and tracestate.
func (p *Policy) unanswerable(m *rpc.Message) (Decision, bool) {
	trace := m.Root().Get("trace")
	isText := func(v rpc.Value) bool { return nothing(v) || v.Kind() == rpc.String }
	if nothing(trace) || trace.Kind() == rpc.Object && isText(trace.Get("traceparent")) && isText(trace.Get("tracestate")) {
		return Decision{}, false
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeInvalidRequest, Refusal{
		Method: clipped(m.Method), Rule: "protocol", Field: "trace", Reason: "codex drops the message without an answer",
		Hint: "leave trace out, or send an object whose traceparent and tracestate are strings",
	})}, true
}

// NeedsState reports whether what a message says, and the thread that it names, matters to
// Decide; else its method alone decides.
func (p *Policy) NeedsState(m *rpc.Message) bool {
	row, verdict, _ := p.verdict(m)
	if verdict == methods.Ask { // as it is judged once a person has agreed
		verdict = row.Override("allow")
	}
	switch verdict {
	case methods.Deny:
		return false
	case methods.Pass:
		return runsCommand(m.Method)
	}
	return true
}

// call is one decision in the making.
type call struct {
	p      *Policy
	row    *method
	m      *rpc.Message
	params rpc.Value
	st     State

	patch   *rpc.Patch // nil until something changes
	changes []Change
	err     *rpc.Error
	needs   bool // State.Defaults is missed

	needsFolder bool       // State.ThreadFolder is missed
	needsStored bool       // State.StoredSandbox is missed
	needsLoaded bool       // State.LoadedProfile is missed
	readFor     string     // the cwd that State.Defaults should be read for
	own         trustLevel // what the user's own configuration says of the folder
	untrusted   string     // the folder that the overlay makes untrusted

	workspace string // canonical; "" unknown
	granted   []string
	expanded  bool // granted is computed

	level         level          // of a thread request, the most it can come to
	profiled      bool           // the level comes from a builtin permissions profile
	writes        *sandboxObject // the workspace-write that a turn names
	ownProfile    bool           // a turn names the bridge's profile
	writable      []string       // its writable roots
	boundCwd      bool           // the turn's cwd must not be writable by itself
	newlyWritable []string       // Decision.Writable
	modelGiven    bool           // the overlay names an allowed model
	wanted        []want         // keys that the overlay must have
	sent          SentSettings
	gated         *bool // Decision.Gated
}

// admit looks at what must be right before a field is.
func (c *call) admit() bool {
	switch {
	case c.m.Truncated():
		c.refuse(rpc.CodeTooLarge, "params", "codex.max_message", "the message has more values than are looked at", "send less")
	case c.params.Kind() != rpc.Object:
		// Measured: codex answers -32600 "missing field `params`", for null too.
		c.refuse(rpc.CodeInvalidParams, "params", "protocol", "params is "+c.params.Kind().String(), "send an object")
	case c.row.free:
	case c.row.opens:
		c.knownThread()
	case !c.knownThread():
		c.refuse(rpc.CodeNotVerified, "params.threadId", "policy.mode", "this thread's policy has not been verified", "resume the thread first")
	default:
		c.workspace = c.st.Thread.Workspace
	}
	return c.err == nil
}

// knownThread tells whether State.Thread is the thread that the message names.
// A state for another thread counts as none.
func (c *call) knownThread() bool {
	if c.st.Thread == nil || !c.params.Get("threadId").Is(c.st.Thread.ID) {
		c.st.Thread = nil
		return false
	}
	return true
}

func (c *call) decision() Decision {
	if c.err == nil && c.needsFolder {
		c.refuse(rpc.CodeRefused, "params.threadId", ruleTrust, "the folder that the thread stands in could not be found out", "send its cwd")
		return Decision{Verdict: Deny, Err: c.err, NeedsThreadFolder: true}
	}
	if c.err == nil && c.needsLoaded {
		c.refuse(rpc.CodeRefused, "params.threadId", ruleProtected, "Codex was not asked whether it has loaded the thread", "resume the thread again")
		return Decision{Verdict: Deny, Err: c.err, NeedsLoadedProfile: true}
	}
	if c.err == nil && c.needsStored {
		c.refuse(rpc.CodeRefused, "params.threadId", ruleProtected, "the thread's sandbox could not be found out", "send sandbox")
		return Decision{Verdict: Deny, Err: c.err, NeedsStoredSandbox: true}
	}
	if c.err == nil && c.needs {
		mend := "name approvalPolicy, approvalsReviewer and permissions"
		if c.p.trust != trustCodex {
			mend = "see what codex says of its configuration" // whom the user trusts stands nowhere else
		}
		c.refuse(rpc.CodeRefused, "params", "policy.mode", "codex's own configuration, which gives the fields that are left out, could not be read", mend)
		return Decision{Verdict: Deny, Err: c.err, NeedsDefaults: true, ConfigCwd: c.readFor, Workspace: c.workspace}
	}
	if c.err != nil {
		return Decision{Verdict: Deny, Err: c.err}
	}
	d := Decision{Verdict: Pass, Message: c.m.Bytes(), Gated: c.gated}
	if c.patch != nil && c.patch.Changed() {
		d.Verdict, d.Message, d.Changes = Rewrite, c.patch.Bytes(), c.changes
	}
	d.Writable = c.newlyWritable
	// The folders of a thread that is workspace-write already were recorded before.
	if t := c.st.Thread; t != nil && !c.row.opens && (c.writes != nil || c.ownProfile) && t.Sandbox != workspaceWrite.String() {
		d.Writable = slices.Concat(d.Writable, []string{t.Workspace}, t.Profile.Roots)
	}
	if c.row.opens {
		sent := c.sent
		sent.Method, sent.Gated, sent.Project = c.m.Method, c.gated, c.readFor
		d.Sent, d.Workspace, d.ConfigCwd = &sent, sent.Workspace, c.readFor
		if c.distrusts() {
			d.Untrusted = c.untrusted
		}
	}
	return d
}

// mostChanges is how much of a message is put right. Each is looked for, told, and on record:
// without a bound one message could keep the bridge busy for a quarter of a minute.
const mostChanges = 1000

const tooManyChanges = "more than 1000 things in it would have to be changed"

// set gives a member of object a new value. field is its path below params.
func (c *call) set(object rpc.Value, key, field string, to []byte, rule, reason string) {
	c.note(field, object.Get(key), to, rule, reason)
	c.edit().Set(object, key, to)
}

// drop takes a member out of object.
func (c *call) drop(object rpc.Value, key, field, rule, reason string) {
	c.note(field, object.Get(key), nil, rule, reason)
	c.edit().Delete(object, key)
}

// setField and dropField are set and drop for a member of params.
func (c *call) setField(key string, to []byte, rule, reason string) {
	c.set(c.params, key, key, to, rule, reason)
}

func (c *call) dropField(key, rule, reason string) {
	c.drop(c.params, key, key, rule, reason)
}

func (c *call) note(field string, from rpc.Value, to []byte, rule, reason string) {
	if len(c.changes) == mostChanges && c.err == nil {
		c.refuse(rpc.CodeTooLarge, "params", rule, tooManyChanges, "send less that is not allowed")
	}
	// The line belongs to the parser and changes with its next message.
	c.changes = append(c.changes, Change{"params." + field, rule, reason, c.p.origin(rule), bytes.Clone(from.Raw()), to})
}

func (c *call) edit() *rpc.Patch {
	if c.patch == nil {
		c.patch = rpc.NewPatch(c.m)
	}
	return c.patch
}

// refuse ends the decision: what, by which rule, and what to do about it.
func (c *call) refuse(code rpc.Code, field, rule, reason, mend string) {
	c.err = NewRefusalError(code, Refusal{Method: c.m.Method, Rule: rule, Reason: reason, Field: field, Origin: c.p.place(rule), Hint: mend})
}

// nothing: codex takes null in an optional field for a field left out.
func nothing(v rpc.Value) bool {
	return v.Kind() == rpc.Absent || v.Kind() == rpc.Null
}

func quote(text string) []byte {
	raw, _ := json.Marshal(text) // can't fail for a string
	return raw
}

// show is a value as a reason names it, cut where it is long.
func show(v rpc.Value) string {
	const most = 80
	raw := v.Raw()
	if len(raw) > most {
		return fmt.Sprintf("%s… (%d bytes)", bytes.ToValidUTF8(raw[:most], nil), len(raw))
	}
	return string(raw)
}
