package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// GatePolicy is the policy of the conversation.
type GatePolicy interface {
	// Session returns the root thread of a subagent's thread, or else the thread itself.
	Session(thread string) string
	// Workspace returns the folder of a thread, or "" if it is not known.
	Workspace(thread string) string
	// Sandbox describes what a turn's sandbox allows; "" if that is not known.
	Sandbox(thread, turn string) string
	// RecordAnswer logs how a question was answered for the person, with the facts of the decision to
	// ask. After an error the call must not be accepted.
	RecordAnswer(ctx context.Context, asked *rpc.Envelope, verdict policy.Verdict, rule, reason, facts string) error
	// Client returns the client's name and version.
	Client() string
	// WantsNotification reports whether the client has not opted out of a notification.
	WantsNotification(method string) bool
	// WarnOnce warns the user that an answer counts once, one time for each thread.
	WarnOnce(thread, text string)
}

// GateOptions configure a Gate.
type GateOptions struct {
	Approvals func() config.Approvals // the current configuration
	Policy    GatePolicy
	Memory    *approvals.Memory
	Limiter   *approvals.Limiter
	// Record is the decision log; every consent of the person is written to it.
	Record approvals.DecisionLog
	// HasPerson reports whether the client's person can be asked, or else why not.
	HasPerson func() (ok bool, why string)
	// Audience has the other clients of Codex; nil: there is none.
	Audience Audience
	// Calls is what the Gates of all clients of Codex share.
	Calls *Calls
	// KnowsBridge reports whether the client has offered capabilities.bridge; nil: it has not.
	KnowsBridge func() bool
	Log         *slog.Logger
}

// Gate asks the person about tool calls. It is a bridge.Feature.
type Gate struct {
	options GateOptions
	peer    *bridge.Conn
	pending approvals.PendingQuestions[chan sharedAnswer]
}

// Audience are the clients of one Codex that can be asked about a call.
type Audience interface {
	// HasPerson reports whether a client may answer a question about a turn for a person, or else why not.
	HasPerson(thread, turn string) (ok bool, why string)
	// Ask shows the question in the clients that may answer it, by their Gates, and returns the first
	// answer. A client that comes while the question waits is asked, too. The caller must call End, also
	// after an error.
	Ask(ctx context.Context, q *Question) (Answered, error)
}

// Answered is the answer to a question.
type Answered struct {
	Result rpc.Value
	Gate   *Gate // of the client that has answered
	End    func(accepted bool)
}

// sharedAnswer is the answer to a question, for equal questions that wait. ended means that
// there was none.
type sharedAnswer struct{ accepted, ended bool } // ended: without an answer

// NewGate returns a Gate.
func NewGate(o GateOptions) *Gate { return &Gate{options: o} }

// Attach implements bridge.Attacher.
func (g *Gate) Attach(peer *bridge.Conn) { g.peer = peer }

// Routes implements bridge.Feature.
func (g *Gate) Routes() []bridge.Route {
	return []bridge.Route{{
		From: bridge.Codex, Method: "item/started", Why: "the bridge has sent it already, with the approval request",
		HandleServer: g.handleItemStarted, When: g.options.Calls.hasAnnounced,
	}}
}

// Stage implements bridge.Feature.
func (*Gate) Stage() bridge.Stage { return bridge.AfterGuard }

// handleItemStarted drops the item/started of an item that the bridge has announced.
func (g *Gate) handleItemStarted(_ context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	if id, ok := params.Get("item").Get("id").Text(); ok && g.options.Calls.takeAnnounced(g, callID(thread, id)) {
		msg.Line = nil
	}
}

// Forget drops the consent and the announced item of earlier calls with an id. Call it when a
// call starts: the model chooses the id, and may use it again.
func (g *Gate) Forget(thread, id string) { g.options.Calls.forget(thread, id) }

// GateReason has the reason for a question, and the facts of the call.
type GateReason struct {
	Text      string             // "": the person wants to be asked about every call
	Escalated bool               // the call would leave the sandbox, so it is not remembered
	Shell     string             // the shell with its flags; "": unknown, so the call is not remembered
	Terms     policy.AnswerTerms // says which remembered answers count
	Facts     string             // of the decision to ask, for the decision log
	Unasked   string             // why the person must not be asked, so that only a remembered answer counts; "": they may be
}

// Ask asks the person whether a tool call may run. It returns a denial or no opinion: an
// accepted call still runs in Codex's sandbox.
func (g *Gate) Ask(ctx context.Context, call *hook.Call, why GateReason) hook.Answer {
	wait := time.Duration(g.options.Approvals().Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("no answer came within %s", wait))
	defer cancel()
	q := newQuestion(call, why, g.rememberSpan())
	key, err := q.key(g.options.Policy)
	if why.Escalated || err != nil {
		key = approvals.Key{} // shares nothing, and is never remembered
		q = newQuestion(call, why, approvals.Off)
	}
	yes, err := g.decide(ctx, q, key)
	var nobody *nobodyError
	switch {
	case errors.As(err, &nobody):
		return hook.Answer{Decision: hook.Deny, Reason: NobodyAsked + err.Error() + ". " + hook.AdviceForModel}
	case err != nil:
		return hook.Answer{Decision: hook.Deny, Reason: "The user has not accepted this call: " + problem.Text(err) + ". " + hook.AdviceForModel}
	case !yes:
		return hook.Answer{Decision: hook.Deny, Reason: "rejected by user", Declined: true}
	}
	return hook.Answer{}
}

// NobodyAsked begins the reason of a denial in place of a question that no person got.
const NobodyAsked = "No person was asked about this call: "

// nobodyError says why no person was asked.
type nobodyError struct{ why string }

func (e *nobodyError) Error() string { return e.why }

// rememberSpan returns the longest span that the person may choose.
func (g *Gate) rememberSpan() approvals.Span { return approvals.Span(g.options.Approvals().Remember) }

// decide answers a question from memory, from an equal question, or by asking the person.
func (g *Gate) decide(ctx context.Context, q *Question, key approvals.Key) (yes bool, err error) {
	if grant, ok := g.options.Memory.Lookup(ctx, key); ok {
		reason := fmt.Sprintf("grant %s: allowed by %s until %s", grant.ID, grant.Client, grant.Expires.Format(time.RFC3339))
		if g.logDecision(ctx, q, policy.Accept, "approvals.remember", reason) == nil {
			g.options.Calls.accept(q)
			return true, nil
		} // not logged: ask the person
	}
	ok, why := g.hasPerson(q)
	if q.reason.Unasked != "" {
		ok, why = false, q.reason.Unasked
	}
	if !ok {
		return false, errors.Join(&nobodyError{why}, g.logDecision(ctx, q, policy.Deny, policy.RuleNobody, why))
	}
	var shared chan sharedAnswer
	switch g.pending.Join(key, q.id, func() chan sharedAnswer { shared = make(chan sharedAnswer, 1); return shared }) {
	case approvals.TooMany:
		return false, g.reject(ctx, q, "too many equal questions are pending")
	case approvals.Waiting:
		select {
		case same := <-shared:
			return g.useSharedAnswer(ctx, q, same)
		case <-ctx.Done():
			g.pending.Settle(q.id)
			rule, why := unanswered(ctx)
			return false, errors.Join(why, g.logDecision(ctx, q, policy.Deny, rule, problem.Text(why)))
		}
	}
	defer func() {
		for _, waiting := range g.pending.Settle(q.id) {
			waiting <- sharedAnswer{yes, err != nil}
		}
	}()
	if !g.options.Limiter.Allow(g.options.Policy.Session(q.call.Thread()), "") {
		return false, g.reject(ctx, q, fmt.Sprintf("the user was asked %d questions within a minute", approvals.MaxQuestions))
	}
	return g.askPerson(ctx, q, key)
}

// useSharedAnswer answers a question that has waited for the answer to an equal one.
func (g *Gate) useSharedAnswer(ctx context.Context, q *Question, same sharedAnswer) (yes bool, err error) {
	const rule = "approvals.shared"
	if same.ended {
		const why = "an equal question ended without an answer"
		return false, errors.Join(errors.New(why), g.logDecision(ctx, q, policy.Deny, rule, why))
	}
	if !same.accepted {
		return false, g.logDecision(ctx, q, policy.Deny, rule, "the client has refused an equal question")
	}
	if err := g.logDecision(ctx, q, policy.Accept, rule, "the client has allowed an equal question"); err != nil {
		_ = g.logDecision(ctx, q, policy.Deny, approvals.RuleStore, "the client's answer to an equal question can't be written to the decision log")
		return false, err // it is denied even if the log fails again
	}
	g.options.Calls.accept(q)
	return true, nil
}

// reject logs that the person is not asked, and returns the reason as an error.
func (g *Gate) reject(ctx context.Context, q *Question, reason string) error {
	return errors.Join(errors.New(reason), g.logDecision(ctx, q, policy.Deny, "approvals.limit", reason))
}

// hasPerson reports whether a person can be asked, or else why not.
func (g *Gate) hasPerson(q *Question) (ok bool, why string) {
	if g.options.Audience != nil {
		return g.options.Audience.HasPerson(q.Thread(), q.Turn())
	}
	return g.options.HasPerson()
}

// askPerson asks the person of this client, or of each that may answer.
func (g *Gate) askPerson(ctx context.Context, q *Question, key approvals.Key) (yes bool, err error) {
	if key.Digest() != "" {
		q.spans = []approvals.Span{approvals.Session, approvals.Always}
	}
	answered, err := g.ask(ctx, q)
	defer func() { answered.End(yes) }()
	if err == nil {
		return answered.Gate.settle(ctx, q, key, answered.Result)
	}
	rule := policy.RuleNobody
	var failed *rpc.Error
	var unreadable *bridge.UnreadableError
	switch {
	case ctx.Err() != nil:
		rule, err = unanswered(ctx)
	case errors.As(err, &unreadable):
		rule = ruleProtocol
	case errors.As(err, &failed) && failed.Code == rpc.CodeUnknownMethod:
		err = &nobodyError{"this client answers no such questions (" + q.method + "); an allow rule lets a call run without one"}
	}
	if failed := g.logDecision(context.WithoutCancel(ctx), q, policy.Deny, rule, problem.Text(err)); failed != nil {
		g.options.Log.Error("approval not logged", "method", q.method, "error", failed)
	}
	return false, err
}

// errCallEnded is why a question has no answer whose call Codex ends, as it does when a turn is interrupted.
var errCallEnded = errors.New("Codex has ended the call before the answer")

// unanswered returns the rule and the reason for the denial of a question whose context has ended.
func unanswered(ctx context.Context) (rule string, reason error) {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return "approvals.timeout", cause
	}
	return policy.RuleNobody, errCallEnded
}

func (g *Gate) ask(ctx context.Context, q *Question) (Answered, error) {
	if g.options.Audience != nil {
		return g.options.Audience.Ask(ctx, q)
	}
	result, err := g.Show(ctx, q, "")
	return Answered{result, g, func(accepted bool) { g.End(q, accepted) }}, err
}

// Show sends the client a question and returns the answer. As Codex does, it sends item/started before and
// serverRequest/resolved afterwards. If only another client may answer, answeredBy is its name. The caller
// calls End.
func (g *Gate) Show(ctx context.Context, q *Question, answeredBy string) (rpc.Value, error) {
	if item := q.item("inProgress"); item != nil && g.options.Policy.WantsNotification("item/started") {
		g.options.Calls.announce(g, q.callID())
		g.peer.Notify("item/started", q.itemParams("startedAtMs", item))
	}
	return g.peer.AskUser(ctx, q.Thread(), q.method, g.shownParams(ctx, q, answeredBy))
}

// End ends a question that the client was shown. As Codex does, it sends item/completed after a denial.
func (g *Gate) End(q *Question, accepted bool) {
	if accepted {
		return
	}
	g.options.Calls.takeAnnounced(g, q.callID()) // Codex will not start the item
	if item := q.item("declined"); item != nil && g.options.Policy.WantsNotification("item/completed") {
		g.peer.Notify("item/completed", q.itemParams("completedAtMs", item))
	}
}

// Withdraw forgets that the client was sent item/started for a question. It gets no more of the thread.
func (g *Gate) Withdraw(q *Question) { g.options.Calls.takeAnnounced(g, q.callID()) }

// ruleProtocol is the rule of a refusal because the client's answer can't be read.
const ruleProtocol = "protocol"

// settle applies the answer of this client.
func (g *Gate) settle(ctx context.Context, q *Question, key approvals.Key, result rpc.Value) (yes bool, err error) {
	answer, err := q.parseReply(result)
	if err != nil {
		return false, errors.Join(err, g.logDecision(ctx, q, policy.Deny, ruleProtocol, problem.Text(err)))
	}
	if answer.cancel {
		// as Codex does: the turn ends, and the model gets no reason
		if _, err := g.peer.Call(ctx, "turn/interrupt", map[string]string{"threadId": q.Thread(), "turnId": q.Turn()}); err != nil {
			g.options.Log.Error("the turn of a call that the user has declined could not be interrupted", "thread", q.Thread(), "turn", q.Turn(), "error", err)
		}
		return false, nil
	}
	if !answer.accepted {
		return false, nil
	}
	if err := g.recordConsent(ctx, q, result); err != nil {
		g.options.Log.Error("approval not logged, so it does not count", "method", q.method, "error", err)
		const why = "the user's approval can't be written to the decision log"
		return false, errors.Join(errors.New(why), g.logDecision(ctx, q, policy.Deny, approvals.RuleStore, why))
	}
	g.options.Calls.accept(q)
	g.remember(ctx, q, key, answer)
	return true, nil
}

// remember keeps a consent that was meant to last, or tells the user that it counts once.
func (g *Gate) remember(ctx context.Context, q *Question, key approvals.Key, answer personReply) {
	if answer.span != approvals.Off {
		_, err := g.options.Memory.Remember(ctx, key, answer.span, approvals.Origin{Client: g.options.Policy.Client(), What: q.summary})
		if err == nil {
			return
		}
		g.options.Log.Info("an approval is not remembered", "method", q.method, "error", err)
	} else if !answer.unoffered {
		return
	}
	g.options.Policy.WarnOnce(q.Thread(), approvals.CountsOnce(g.options.Approvals(), q.reason.Escalated, !answer.unoffered))
}

// shownParams returns the params of a question as the client gets them.
func (g *Gate) shownParams(ctx context.Context, q *Question, answeredBy string) map[string]any {
	if g.options.KnowsBridge == nil || !g.options.KnowsBridge() {
		return q.params
	}
	wait := time.Duration(0)
	if end, ok := ctx.Deadline(); ok {
		wait = time.Until(end)
	}
	params := maps.Clone(q.params)
	if answeredBy != "" {
		params["bridge"] = approvals.NewWatchHint(answeredBy, wait)
	} else {
		params["bridge"] = approvals.NewHint(g.options.Approvals(), wait, q.spans...)
	}
	return params
}

// logDecision logs an answer that the bridge gives for the person.
func (g *Gate) logDecision(ctx context.Context, q *Question, v policy.Verdict, rule, reason string) error {
	asked, err := q.envelope(q.params)
	if err != nil {
		return err
	}
	return g.options.Policy.RecordAnswer(ctx, asked, v, rule, reason, q.reason.Facts)
}

// recordConsent logs the person's consent, with a patch's changes, which the question does
// not have.
func (g *Gate) recordConsent(ctx context.Context, q *Question, result rpc.Value) error {
	params := maps.Clone(q.params)
	if list, ok := q.itemFields["changes"].([]patchChange); ok {
		params["fileChanges"] = legacyFileChanges(list)
	}
	asked, err := q.envelope(params)
	if err != nil {
		return err
	}
	return approvals.RecordConsent(ctx, g.options.Record, config.Enforce, g.options.Policy.Client(), asked, nil, q.reason.Facts, result)
}

// Accepted reports whether the person has accepted the call that Codex asks about, and
// whether they were shown that it leaves the sandbox. An acceptance counts once, and only
// in the turn of the call. The itemId of params names the call, also that of an MCP server's tool. A question
// about a host, or about a part of a call, was not accepted.
func (g *Gate) Accepted(request *rpc.Envelope) (shown, ok bool) {
	params := request.Root().Get("params")
	for _, name := range []string{"networkApprovalContext", "approvalId"} {
		if v := params.Get(name); v.Exists() && v.Kind() != rpc.Null {
			return false, false
		}
	}
	turn, _ := params.Get("turnId").Text()
	return g.options.Calls.takeAccepted(subjectOf(request.Method, params), turn, request.ID.Key())
}
