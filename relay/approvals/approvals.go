// Package approvals answers Codex's approval requests in the person's place. It remembers
// approvals and answers an equal request from memory. Equal requests that are pending share
// one answer, a request without an answer is declined after a timeout, and so are more
// than 12 requests per minute. Package guard comes first: a request that policy allows or
// refuses never reaches this package.
//
// A remembered approval applies only to a request whose [Key] is equal, byte by byte, until
// it expires or is revoked. A request that leaves the sandbox, or may, is never remembered.
// If the store, the clock or the key fails, the person is asked. No key covers the files
// that a command reads: an approved script may change.
//
// All types may be used by several goroutines.
package approvals

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/rpc"
)

// Policy is the policy of the conversation.
type Policy interface {
	// Mode returns the mode of the policy.
	Mode() config.Mode
	// StaysInSandbox reports whether an accepted request stays in the sandbox.
	StaysInSandbox(method string, params rpc.Value) bool
	// RunsInSandbox is StaysInSandbox for a request that is accepted only once.
	RunsInSandbox(method string, params rpc.Value) bool
	// HasTerminal reports whether the command of a question gets a terminal, if that is known.
	HasTerminal(params rpc.Value) (has, known bool)
	// Workspace returns the folder of a thread, or "" if it is not known.
	Workspace(thread string) string
	// Sandbox describes what a turn's sandbox allows; "" if that is not known.
	Sandbox(thread, turn string) string
	// Session returns the root thread of a subagent's thread, or else the thread itself.
	Session(thread string) string
	// RecordAnswer logs how a question was answered for the person. facts are those of the decision to
	// ask; "" for those of the request. After an error the question must not be accepted.
	RecordAnswer(ctx context.Context, asked *rpc.Envelope, verdict policy.Verdict, rule, reason, facts string) error
	// Files returns the paths that a question's patch changes; nil for other questions, and
	// if Codex has not named them.
	Files(params rpc.Value) []string
	// AnswerTerms returns which remembered answers to a question count.
	AnswerTerms(method string, params rpc.Value) policy.AnswerTerms
	// RequestFacts returns the facts of the decision about a question, for the decision log.
	// callKnown reports that a question about a tool of an MCP server is Codex's own.
	RequestFacts(method string, params rpc.Value, callKnown bool) string
	// Client returns the client's name and version.
	Client() string
	// Consents reports whether a server's tool may run without asking the person.
	Consents(params rpc.Value, use toolcall.Call) bool
	// AsksAboutMCP reports whether Codex asks the client about tools of MCP servers in a turn.
	AsksAboutMCP(thread, turn string) bool
	// AcceptsCall reports whether the rules accept a call of an MCP server's tool, and logs that.
	AcceptsCall(ctx context.Context, question *rpc.Envelope) bool
	// RecordChange logs a change of a request before the client gets it. line is that request.
	RecordChange(ctx context.Context, request *rpc.Envelope, line []byte, change policy.Change)
	// RecordNarrowed logs that the client gets a request with fewer answers than Codex offers.
	RecordNarrowed(ctx context.Context, request *rpc.Envelope, line []byte, changes []policy.Change)
	// AcceptedByPerson records that the person has accepted a question of Codex.
	AcceptedByPerson(asked *rpc.Envelope)
	// WarnOnce warns the user that an answer counts once, one time for each thread.
	WarnOnce(thread, text string)
}

// Sessions returns facts about the threads of sessions.
type Sessions interface {
	// Apps returns the apps that a session's host has named for the thread; nil if it has
	// named none, or if the thread has no session.
	Apps(ctx context.Context, thread string) *answer.Apps
	// Running returns the running turn of a thread that takes input; "" if none is known.
	Running(thread string) string
}

// Gate asks the person about tool calls before Codex does.
type Gate interface {
	// Accepted reports whether the person has accepted the call of a request, and whether they
	// were shown that it leaves the sandbox.
	Accepted(request *rpc.Envelope) (shown, ok bool)
}

// Options configure a Feature.
type Options struct {
	Approvals func() config.Approvals // the current configuration
	Policy    Policy
	Memory    *Memory
	Gate      Gate // nil: no gate
	Sessions  Sessions
	// Expire limits the time of a question that Codex may also send to other clients, and returns the remaining
	// time. A question that expires is declined for all of them. Nil: there is no other client.
	Expire func(asked *rpc.Envelope, wait time.Duration) (left time.Duration)
	Calls  *MCPCalls // of the same Codex; nil: this is its only client
	// KnowsCalls reports whether the hooks PreToolUse and PermissionRequest are active in a thread; nil: in
	// none.
	KnowsCalls func(thread string) bool
	// Record is the decision log; every consent of the person is written to it.
	Record  DecisionLog
	Limiter *Limiter // of the questions
	// Unattended: the client has no person, and declines each question.
	Unattended bool
	// KnowsBridge reports whether the client has offered capabilities.bridge; nil: it has not.
	KnowsBridge func() bool
	Log         *slog.Logger
}

// Feature answers or limits Codex's approval requests. It is a bridge.Feature.
type Feature struct {
	Options
	pending PendingQuestions[*waiter]
}

// New returns a Feature.
func New(o Options) *Feature {
	if o.Calls == nil {
		o.Calls = new(MCPCalls)
	}
	return &Feature{Options: o}
}

const (
	elicitation = methods.Elicitation
	userInput   = methods.UserInput
)

// Routes implements bridge.Feature.
func (f *Feature) Routes() []bridge.Route {
	routes := []bridge.Route{{
		From: bridge.Codex, Method: "serverRequest/resolved", Why: "requests that wait for the same answer are declined", HandleServer: f.handleResolved,
	}}
	for _, method := range methods.ForPerson() {
		routes = append(routes, bridge.Route{
			From: bridge.Codex, Method: method, HandleServer: f.handleQuestion,
			Why: "answered from memory, or with the answer to an equal request, or declined after a timeout",
		})
	}
	return slices.Concat(routes, f.programRoutes(), f.mcpRoutes())
}

// Stage implements bridge.Feature.
func (*Feature) Stage() bridge.Stage { return bridge.AfterGuard }

func (f *Feature) handleQuestion(ctx context.Context, msg *bridge.ServerMessage) {
	if f.declineForeign(ctx, msg) {
		return
	}
	params := msg.Root().Get("params")
	mode := f.Policy.Mode()
	known := msg.ID.IsValid() && f.enforces() && msg.Method == elicitation && f.isKnownQuestion(msg.ID, params)
	isServers := f.enforces() && msg.Method == elicitation && !known && f.knowsCalls(params)
	if !msg.ID.IsValid() || f.route(ctx, msg, isServers) || mode == config.Off {
		return
	}
	switch {
	case isServers:
		if f.removeMark(ctx, msg) {
			f.narrowOffer(ctx, msg, nil)
		}
		f.logAnswer(ctx, msg, false) // the server's own question has no timeout
		return
	case msg.Method == elicitation && !known && !params.Get("_meta").Get(approvalKind).Is("mcp_tool_call"):
		f.logAnswer(ctx, msg, false)
		return
	case msg.Method == userInput && !serverrequest.IsApproval(msg.Method, params):
		return // a question of the model
	case !f.enforces():
		f.logAnswer(ctx, msg, known)
		return
	case msg.Method != elicitation && f.answerFromGate(ctx, msg):
		return
	}
	f.askPerson(ctx, msg, known)
}

// logAnswer logs the answer of the client.
func (f *Feature) logAnswer(ctx context.Context, msg *bridge.ServerMessage, known bool) {
	envelope := msg.Clone()
	msg.OnResponse(func(r *bridge.ClientResponse) { f.recordAnswer(ctx, envelope, known, r) })
}

// askPerson answers a question from memory, or by an equal one that waits, or lets the client answer it. A
// question about a tool of an MCP server is neither answered from memory nor shared, and only remembered if it
// is known to be Codex's own.
func (f *Feature) askPerson(ctx context.Context, msg *bridge.ServerMessage, known bool) {
	key, what, ok := f.requestKey(msg.Method, msg.Root().Get("params"))
	shared := key
	if msg.Method == elicitation {
		ok, shared = ok && known, Key{}
	} else if ok && f.answerFromMemory(ctx, msg, key) {
		return
	}
	wait := time.Duration(f.Approvals().Timeout)
	envelope := msg.Clone()
	if !f.admit(ctx, msg, envelope, shared, wait) {
		return
	}
	var spans []Span
	if ok {
		spans = offeredSpans(envelope.Method, envelope.Root().Get("params"))
	}
	left := wait
	if f.Expire != nil {
		left = f.Expire(envelope, wait)
	}
	hint := NewHint(f.Approvals(), left, spans...)
	f.narrowOffer(ctx, msg, hint.Remember)
	f.addHint(msg, hint)
	msg.OnResponse(func(r *bridge.ClientResponse) {
		f.recordAnswer(ctx, envelope, known, r)
		outcome := responseOutcome(envelope.Method, r.Line)
		if outcome == answer.ApprovedOnce {
			f.Policy.AcceptedByPerson(envelope)
		}
		if isKept := ok && f.remember(ctx, envelope, hint.Remember, r, key, what); !isKept {
			f.warnCounted(envelope, r)
		}
		f.shareOutcome(ctx, envelope.ID, outcome)
	})
	if f.Expire != nil {
		return
	}
	msg.TimeoutResult(wait, func() []byte {
		no := f.timeoutResult(ctx, envelope, wait)
		f.shareOutcome(ctx, envelope.ID, answer.Unavailable)
		return no
	})
}

// timeoutResult logs a timeout and returns the result for Codex.
func (f *Feature) timeoutResult(ctx context.Context, asked *rpc.Envelope, wait time.Duration) []byte {
	f.logDecision(ctx, asked, policy.Deny, "approvals.timeout", "no answer came within "+wait.String())
	return result(asked.Method, asked.Root().Get("params"), answer.Unavailable)
}

// answerFromGate answers a question about a call that the gate has asked about.
func (f *Feature) answerFromGate(ctx context.Context, msg *bridge.ServerMessage) bool {
	params := msg.Root().Get("params")
	if f.Gate == nil {
		return false
	}
	shown, ok := f.Gate.Accepted(msg.Envelope)
	if !ok || !shown && !f.Policy.RunsInSandbox(msg.Method, params) {
		return false
	}
	yes := result(msg.Method, params, answer.ApprovedOnce)
	if yes == nil || !f.logDecision(ctx, msg.Envelope, policy.Accept, ruleGate, reasonGate) {
		return false
	}
	msg.Reply(yes)
	return true
}

// answerFromMemory answers a question that a grant covers.
func (f *Feature) answerFromMemory(ctx context.Context, msg *bridge.ServerMessage, key Key) bool {
	grant, ok := f.Memory.Lookup(ctx, key)
	if !ok {
		return false
	}
	yes := result(msg.Method, msg.Root().Get("params"), answer.ApprovedOnce)
	if yes == nil {
		return false
	}
	if !f.logDecision(ctx, msg.Envelope, policy.Accept, ruleRemember, grantReason(grant)) {
		return false
	}
	msg.Reply(yes)
	return true
}

// remember stores a consent for more than once, and reports whether it did. kept are the spans that the client
// was offered. The policy has already changed the response to Codex to a consent for once.
func (f *Feature) remember(ctx context.Context, asked *rpc.Envelope, kept []Span, r *bridge.ClientResponse, key Key, what string) bool {
	span := ConsentSpan(asked.Method, asked.Root().Get("params"), r.Root().Get("result"))
	if !slices.Contains(kept, span) || responseOutcome(asked.Method, r.Line) != answer.ApprovedOnce {
		return false
	}
	_, err := f.Memory.Remember(ctx, key, span, Origin{Client: f.Policy.Client(), What: what})
	if err != nil {
		f.Log.Info("an approval is not remembered", "method", asked.Method, "error", err)
	}
	return err == nil
}

func (f *Feature) enforces() bool { return f.Policy.Mode() == config.Enforce }

// recordAnswer logs the client's consent in full, and that it declines for want of a person. known reports that
// the question is about a call of an MCP server's tool, and Codex's own.
func (f *Feature) recordAnswer(ctx context.Context, asked *rpc.Envelope, known bool, r *bridge.ClientResponse) {
	e, err := rpc.ParseEnvelope(r.Line)
	switch {
	case err != nil:
	case IsConsent(e.Root().Get("result")):
		f.recordConsent(ctx, asked, known, e, r)
	case f.enforces() && (f.Unattended || isUnknownMethod(e)):
		f.logDecision(ctx, asked, policy.Deny, policy.RuleNobody, "this client answers no such questions ("+asked.Method+")")
	}
}

// isUnknownMethod reports whether the client has answered that it does not know a request.
func isUnknownMethod(response *rpc.Envelope) bool {
	code := response.Root().Get("error").Get("code")
	return string(code.Raw()) == strconv.Itoa(int(rpc.CodeUnknownMethod))
}

// recordConsent logs the client's consent e in full. If that fails under enforce, Codex gets a refusal.
func (f *Feature) recordConsent(ctx context.Context, asked *rpc.Envelope, known bool, e *rpc.Envelope, r *bridge.ClientResponse) {
	mode := f.Policy.Mode()
	patch := f.Policy.Files(asked.Root().Get("params"))
	facts := f.Policy.RequestFacts(asked.Method, asked.Root().Get("params"), known)
	err := RecordConsent(ctx, f.Record, mode, f.Policy.Client(), asked, patch, facts, e.Root().Get("result"))
	switch {
	case err == nil:
		return
	case mode != config.Enforce:
		f.Log.Error("approval not logged", "method", asked.Method, "error", err)
		return
	}
	f.Log.Error("approval not logged, so it does not count", "method", asked.Method, "error", err)
	f.logDecision(ctx, asked, policy.Deny, RuleStore, "the user's approval can't be written to the decision log, so it does not count")
	r.Line = append(rpc.EncodeResult(asked.ID, result(asked.Method, asked.Root().Get("params"), answer.Unavailable)), '\n')
}

func (f *Feature) logDecision(ctx context.Context, asked *rpc.Envelope, v policy.Verdict, rule, reason string) bool {
	if err := f.Policy.RecordAnswer(ctx, asked, v, rule, reason, ""); err != nil {
		f.Log.Error("approval not logged", "method", asked.Method, "error", err)
		return false
	}
	return true
}

// result returns the result of a question with the given outcome, or nil if the method has
// none.
func result(method string, params rpc.Value, o answer.Outcome) []byte {
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

// Decline returns the result that declines a request of Codex for a person; nil for another request.
func Decline(method string, params rpc.Value) []byte {
	if !methods.IsForPerson(method) {
		return nil
	}
	return result(method, params, answer.Unavailable)
}

// commandMembers are the members of Codex's question about a command that change what runs, beside its folder. Others
// name the question, show it, or list its answers.
var commandMembers = []string{"command", "kind", "environmentId", "approvalId", "additionalPermissions", "networkApprovalContext"}

// isUsual reports whether a member of a question has the value that a missing one stands for.
func isUsual(name string, v rpc.Value) bool {
	return v.Kind() == rpc.Null || name == "kind" && v.Is("command") || name == "environmentId" && v.Is("local")
}

// requestKey returns the key of a question and its text for lists. ok is false if the
// question must be neither remembered nor shared.
func (f *Feature) requestKey(method string, params rpc.Value) (requestKey Key, what string, ok bool) {
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	asked := Request{Provider: "codex", Session: f.Policy.Session(thread), Workspace: f.Policy.Workspace(thread), Sandbox: f.Policy.Sandbox(thread, turn), Terms: f.Policy.AnswerTerms(method, params)}
	input := map[string]json.RawMessage{}
	switch {
	case !f.Policy.StaysInSandbox(method, params), asked.Terms.Since.After(time.Now()): // no answer ever counts
		return requestKey, "", false
	case method == "item/commandExecution/requestApproval":
		asked.Tool = "Bash"
		asked.Cwd, _ = params.Get("cwd").Text()
		terminal, known := f.Policy.HasTerminal(params)
		if what, ok = params.Get("command").Text(); !ok || asked.Cwd == "" || !known {
			return requestKey, "", false
		}
		for _, name := range commandMembers {
			if v := params.Get(name); v.Exists() && !isUsual(name, v) {
				input[name] = v.Raw()
			}
		}
		if terminal { // Codex does not say so
			input["terminal"], what = json.RawMessage("true"), what+" (with a terminal)"
		}
	case method == elicitation:
		meta := params.Get("_meta")
		server, _ := params.Get("serverName").Text()
		tool, _ := meta.Get("tool_name").Text()
		arguments := meta.Get("tool_params")
		if server == "" || tool == "" || !arguments.Exists() {
			return requestKey, "", false
		}
		asked.Tool = "mcp__" + server + "__" + tool
		what = asked.Tool + " " + string(arguments.Raw())
		input["server"], input["tool"], input["arguments"] = params.Get("serverName").Raw(), meta.Get("tool_name").Raw(), arguments.Raw()
	default:
		return requestKey, "", false
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return requestKey, "", false
	}
	asked.Input = raw
	requestKey, err = NewKey(asked)
	return requestKey, what, err == nil
}
