// Package approvals answers what Codex asks in the person's place where the person has
// answered exactly that before, and says no where nobody answers in time. While a
// question is put, the same one waits for its answer; more than 12 questions in a minute
// are not put.
//
// It stands behind what holds questions to the policy: what that has refused, or
// allowed by a rule, never comes here. What would leave the sandbox, or may, is never
// answered from memory.
package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/relay/answer"
	"codex-bridge/relay/grants"
	"codex-bridge/rpc"
)

// Judge is the policy of the conversation, as this package needs it.
type Judge interface {
	// Mode is the mode of the policy.
	Mode() config.Mode
	// Stays tells whether an accept keeps what is asked about in the sandbox.
	Stays(method string, params rpc.Value) bool
	// Remains tells the same where it runs once only.
	Remains(method string, params rpc.Value) bool
	// Workspace is the folder of a thread; "" unknown.
	Workspace(thread string) string
	// Sandbox is what the sandbox of a turn allows; "" unknown.
	Sandbox(thread, turn string) string
	// Session is the thread in whose name a thread works: of a subagent's its parent's.
	Session(thread string) string
	// Settled puts on record how a question was answered for the person; what is not on
	// record must not be accepted.
	Settled(ctx context.Context, asked *rpc.Envelope, verdict policy.Verdict, rule, reason string) error
	// Files returns the paths that the patch changes that a question is about; nil for another question, or if Codex has
	// not named them.
	Files(params rpc.Value) []string
	// Client is who answers, as it calls itself.
	Client() string
	// Consents reports whether a server's tool may be consented to without a person.
	Consents(params rpc.Value, use policy.ToolUse) bool
}

// Sessions are the threads of sessions, as this package needs them.
type Sessions interface {
	// Apps returns the apps that the host of a session has named for its thread; nil if it has named none,
	// or if the thread has no session.
	Apps(ctx context.Context, thread string) *answer.Apps
	// Running returns the turn that runs in a thread and takes input; "" unknown.
	Running(thread string) string
}

// Gate asks about calls before Codex does.
type Gate interface {
	// Accepted tells whether a person has said yes to this very call; shown, that they
	// were told it leaves the sandbox.
	Accepted(method string, params rpc.Value) (shown, ok bool)
}

// Options are what a Feature is made of.
type Options struct {
	Approvals func() config.Approvals // those of the configuration at hand
	Judge     Judge
	Memory    *grants.Memory
	Gate      Gate // nil: nobody is asked in codex's place
	Sessions  Sessions
	// Record is the decision log, in which all that a person allows is written down.
	Record grants.Recorder
	// Limiter bounds the questions; nil: one of its own.
	Limiter *grants.Limiter
	Log     *slog.Logger
}

// Feature is a bridge.Feature.
type Feature struct {
	Options
	pending grants.Questions[*waiter]
}

// New makes a Feature.
func New(o Options) *Feature {
	if o.Limiter == nil {
		o.Limiter = grants.NewLimiter(nil)
	}
	return &Feature{Options: o}
}

// kinds are the questions that are approvals.
var kinds = []string{
	"item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
	"execCommandApproval", "applyPatchApproval", elicitation, userInput,
}

const (
	elicitation = "mcpServer/elicitation/request"
	userInput   = "item/tool/requestUserInput"
)

// Routes implements bridge.Feature.
func (f *Feature) Routes() []bridge.Route {
	routes := []bridge.Route{{
		From: bridge.Codex, Method: "serverRequest/resolved", Why: "who waits for the answer to that question gets none", HandleServer: f.resolved,
	}}
	for _, method := range kinds {
		routes = append(routes, bridge.Route{
			From: bridge.Codex, Method: method, HandleServer: f.asked,
			Why: "answered from memory, or with the answer to the same question, or declined when there is none in time",
		})
	}
	return append(routes, f.programs()...)
}

func (f *Feature) asked(ctx context.Context, said *bridge.ServerMessage) {
	params := said.Root().Get("params")
	if !said.ID.IsValid() || f.routed(ctx, said) || f.Judge.Mode() == config.Off {
		return
	}
	if said.Method == elicitation && !params.Get("_meta").Get("codex_approval_kind").Is("mcp_tool_call") {
		return // a question of a server's own, which takes as long as the person likes
	}
	if said.Method == userInput && !policy.AsksConsent(said.Method, params) {
		return // a question of the model's
	}
	if !f.enforces() {
		envelope := said.Clone()
		said.OnResponse(func(r *bridge.ClientResponse) { f.recorded(ctx, envelope, r) })
		return
	}
	if f.accepted(ctx, said) {
		return
	}
	key, what, ok := f.key(said.Method, params)
	if ok && f.fromMemory(ctx, said, key) {
		return
	}
	wait := time.Duration(f.Approvals().Timeout)
	envelope := said.Clone()
	if !f.put(ctx, said, envelope, key, wait) {
		return
	}
	said.OnResponse(func(r *bridge.ClientResponse) {
		f.recorded(ctx, envelope, r)
		if ok {
			f.remember(ctx, envelope.Method, r, key, what)
		}
		f.share(ctx, envelope.ID, outcome(envelope.Method, r.Line))
	})
	said.TimeoutResult(wait, func() []byte {
		no := f.late(ctx, envelope, wait)
		f.share(ctx, envelope.ID, answer.Unavailable)
		return no
	})
}

// late is the answer to a question that has none in time.
func (f *Feature) late(ctx context.Context, asked *rpc.Envelope, wait time.Duration) []byte {
	f.settled(ctx, asked, policy.Deny, "approvals.timeout", "no answer came within "+wait.String())
	return result(asked.Method, asked.Root().Get("params"), answer.Unavailable)
}

// accepted answers a question about a call that the person has been asked about by
// the gate.
func (f *Feature) accepted(ctx context.Context, said *bridge.ServerMessage) bool {
	params := said.Root().Get("params")
	if f.Gate == nil {
		return false
	}
	shown, ok := f.Gate.Accepted(said.Method, params)
	if !ok || !shown && !f.Judge.Remains(said.Method, params) {
		return false
	}
	yes := result(said.Method, params, answer.ApprovedOnce)
	if yes == nil || !f.settled(ctx, said.Envelope, policy.Accept, "policy.gate", "the person has said yes to this call, when the bridge asked") {
		return false
	}
	said.Reply(yes)
	return true
}

// fromMemory answers a question that was answered before.
func (f *Feature) fromMemory(ctx context.Context, said *bridge.ServerMessage, key grants.Key) bool {
	grant, ok := f.Memory.Remembered(ctx, key)
	if !ok {
		return false
	}
	yes := result(said.Method, said.Root().Get("params"), answer.ApprovedOnce)
	if yes == nil {
		return false
	}
	reason := fmt.Sprintf("grant %s: allowed by %s until %s", grant.ID, grant.Client, grant.Expires.Format(time.RFC3339))
	if !f.settled(ctx, said.Envelope, policy.Accept, "approvals.remember", reason) {
		return false
	}
	said.Reply(yes)
	return true
}

// remember keeps a yes that was given for longer than once. The policy has made it one
// for once by now.
func (f *Feature) remember(ctx context.Context, method string, r *bridge.ClientResponse, key grants.Key, what string) {
	span := lasting(method, r.Root().Get("result"))
	if span == grants.Off || outcome(method, r.Line) != answer.ApprovedOnce {
		return
	}
	if _, err := f.Memory.Remember(ctx, key, span, grants.Origin{Client: f.Judge.Client(), What: what}); err != nil {
		f.Log.Info("an approval is not remembered", "method", method, "error", err)
	}
}

func (f *Feature) enforces() bool { return f.Judge.Mode() == config.Enforce }

// recorded records the client's consent, whole. If that fails under enforce, Codex gets a refusal.
func (f *Feature) recorded(ctx context.Context, asked *rpc.Envelope, r *bridge.ClientResponse) {
	e, err := rpc.ParseEnvelope(r.Line)
	if err != nil || !grants.Consents(e.Root().Get("result")) {
		return
	}
	mode := f.Judge.Mode()
	patch := f.Judge.Files(asked.Root().Get("params"))
	if err = grants.Record(ctx, f.Record, mode, f.Judge.Client(), asked, patch, e.Root().Get("result")); err == nil {
		return
	}
	if mode != config.Enforce {
		f.Log.Error("an approval can't be put on record", "method", asked.Method, "error", err)
		return
	}
	f.Log.Error("an approval can't be put on record, and does not count", "method", asked.Method, "error", err)
	r.Line = append(rpc.EncodeResult(asked.ID, result(asked.Method, asked.Root().Get("params"), answer.Unavailable)), '\n')
}

func (f *Feature) settled(ctx context.Context, asked *rpc.Envelope, v policy.Verdict, rule, reason string) bool {
	if err := f.Judge.Settled(ctx, asked, v, rule, reason); err != nil {
		f.Log.Error("an approval can't be put on record", "method", asked.Method, "error", err)
		return false
	}
	return true
}

// result is the answer to a question; nil where there is none that says so.
//
// About a command Codex mostly offers no decline, but a cancel, which ends the turn. It
// takes a decline all the same, and then the model is told and the turn goes on
// (measured): so it is where nobody has answered.
func result(method string, params rpc.Value, o answer.Outcome) []byte {
	if method == kinds[0] && o == answer.Unavailable {
		return []byte(`{"decision":"decline"}`)
	}
	switch {
	case method == elicitation:
		return answer.Elicitation(answer.ToPerson, params, o)
	case method == userInput && o == answer.Unavailable:
		return []byte(`{"answers":{}}`)
	case method == userInput:
		return nil
	}
	raw, ok := answer.Approval(method, params, o)
	if !ok {
		return nil
	}
	return raw
}

// key is what exactly is asked for; false, and zero, where it can't be said, or must
// neither be remembered nor shared.
func (f *Feature) key(method string, params rpc.Value) (key grants.Key, what string, ok bool) {
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	asked := grants.Asked{Provider: "codex", Session: f.Judge.Session(thread), Workspace: f.Judge.Workspace(thread), Sandbox: f.Judge.Sandbox(thread, turn)}
	input := map[string]json.RawMessage{}
	switch {
	case !f.Judge.Stays(method, params):
		return key, "", false
	case method == "item/commandExecution/requestApproval":
		command := params.Get("command")
		asked.Tool = "Bash"
		asked.Cwd, _ = params.Get("cwd").Text()
		if what, ok = command.Text(); !ok || asked.Cwd == "" {
			return key, "", false
		}
		input["command"] = command.Raw()
	case method == elicitation:
		meta := params.Get("_meta")
		server, _ := params.Get("serverName").Text()
		tool, _ := meta.Get("tool_name").Text()
		arguments := meta.Get("tool_params")
		if server == "" || tool == "" || !arguments.Exists() {
			return key, "", false
		}
		asked.Tool = "mcp__" + server + "__" + tool
		what = asked.Tool + " " + string(arguments.Raw())
		input["server"], input["tool"], input["arguments"] = params.Get("serverName").Raw(), meta.Get("tool_name").Raw(), arguments.Raw()
	default:
		return key, "", false
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return key, "", false
	}
	asked.Input = raw
	key, err = grants.NewKey(asked)
	return key, what, err == nil
}

// lasting is for how long a yes was given.
func lasting(method string, result rpc.Value) grants.Span {
	decision, persist := result.Get("decision"), result.Get("_meta").Get("persist")
	switch {
	case method == elicitation && persist.Is("always"):
		return grants.Always
	case method == elicitation && persist.Is("session"), decision.Is("acceptForSession"):
		return grants.Session
	case decision.Get("acceptWithExecpolicyAmendment").Exists():
		return grants.Always
	}
	return grants.Off
}
