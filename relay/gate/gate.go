package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/relay/approvals"
	"codex-bridge/relay/hook"
	"codex-bridge/rpc"
)

// Judge is the policy of the conversation, as this package needs it.
type Judge interface {
	// Session is the thread in whose name a thread works.
	Session(thread string) string
	// Workspace is the folder of a thread; "" unknown.
	Workspace(thread string) string
	// Sandbox is what the sandbox of a turn allows; "" unknown.
	Sandbox(thread, turn string) string
	// Settled puts on record how a question was answered for the person; what is not on
	// record must not be accepted.
	Settled(ctx context.Context, asked *rpc.Envelope, verdict policy.Verdict, rule, reason string) error
	// Client is who answers, as it calls itself.
	Client() string
	// Hears tells whether the client wants a notification.
	Hears(method string) bool
}

// Options are what a Gate is made of.
type Options struct {
	Approvals func() config.Approvals // those of the configuration at hand
	Judge     Judge
	Memory    *approvals.Memory
	Limiter   *approvals.Limiter
	// Record is the decision log, in which all that a person allows is written down.
	Record approvals.DecisionLog
	// Answers tells whether there is a person to be asked, and else why not; nil: there is.
	Answers func() (ok bool, why string)
	Log     *slog.Logger
}

// Gate is a bridge.Feature.
type Gate struct {
	o       Options
	peer    *bridge.Conn
	pending approvals.PendingQuestions[chan answered]
	items   items
}

// answered is what became of a question, for those that wait for the same.
type answered struct{ yes, ended bool } // ended: without an answer

// New makes a Gate.
func New(o Options) *Gate { return &Gate{o: o} }

// Attach implements bridge.Attacher.
func (g *Gate) Attach(peer *bridge.Conn) { g.peer = peer }

// Routes implements bridge.Feature.
func (g *Gate) Routes() []bridge.Route {
	return []bridge.Route{{
		From: bridge.Codex, Method: "item/started", Why: "the client has been told already, with the question about it",
		HandleServer: g.started, When: g.items.any,
	}}
}

// started keeps from the client the second start of an item.
func (g *Gate) started(_ context.Context, said *bridge.ServerMessage) {
	params := said.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	if id, ok := params.Get("item").Get("id").Text(); ok && g.items.known(named(thread, id)) {
		said.Line = nil
	}
}

// Reason is why a person is asked.
type Reason struct {
	Text   string // "" none but that they want to be
	Leaves bool   // the call would leave the sandbox: it is not remembered
	Shell  string // that runs a command, with its flags; "" unknown: it is not remembered
}

// Ask has a person say whether a tool call may run. The answer is a denial, or no
// opinion: what they allow still is Codex's to run in its sandbox.
func (g *Gate) Ask(ctx context.Context, call *hook.Call, why Reason) hook.Answer {
	wait := time.Duration(g.o.Approvals().Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("no answer came within %s", wait))
	defer cancel()
	q := newQuestion(call, why, g.spans())
	key, err := q.key(g.o.Judge)
	if why.Leaves || err != nil {
		key = approvals.Key{} // like nothing else, and never remembered
	}
	yes, err := g.outcome(ctx, q, key)
	switch {
	case err != nil:
		return denied("The user has not said yes: " + err.Error() + ". Tell them, and don't try another way.")
	case !yes:
		return denied("rejected by user")
	}
	return hook.Answer{}
}

func denied(reason string) hook.Answer { return hook.Answer{Decision: hook.Deny, Reason: reason} }

// spans are the lasting answers that a person may be offered.
func (g *Gate) spans() approvals.Span { return approvals.Span(g.o.Approvals().Remember) }

// outcome is what becomes of a question: remembered, shared, or put.
func (g *Gate) outcome(ctx context.Context, q *question, key approvals.Key) (yes bool, err error) {
	if grant, ok := g.o.Memory.Lookup(ctx, key); ok {
		reason := fmt.Sprintf("grant %s: allowed by %s until %s", grant.ID, grant.Client, grant.Expires.Format(time.RFC3339))
		if g.settled(ctx, q, policy.Accept, "approvals.remember", reason) == nil {
			g.items.accept(q)
			return true, nil
		} // for the person to say, then
	}
	if g.o.Answers != nil {
		if ok, why := g.o.Answers(); !ok {
			return false, errors.Join(errors.New(why), g.settled(ctx, q, policy.Deny, "approvals.nobody", why))
		}
	}
	var shared chan answered
	switch g.pending.Join(key, q.id(), func() chan answered { shared = make(chan answered, 1); return shared }) {
	case approvals.TooMany:
		return false, g.tooMany(ctx, q, "too many wait for the answer to the same question")
	case approvals.Waiting:
		select {
		case same := <-shared:
			return g.share(ctx, q, same)
		case <-ctx.Done():
			g.pending.Settle(q.id())
			return false, context.Cause(ctx)
		}
	}
	defer func() {
		for _, waiting := range g.pending.Settle(q.id()) {
			waiting <- answered{yes, err != nil}
		}
	}()
	if !g.o.Limiter.Allow(g.o.Judge.Session(q.call.Thread())) {
		return false, g.tooMany(ctx, q, fmt.Sprintf("they were asked %d questions within a minute", approvals.MaxQuestions))
	}
	return g.put(ctx, q, key)
}

// share is what becomes of a question that has waited for the answer to the same one.
func (g *Gate) share(ctx context.Context, q *question, same answered) (yes bool, err error) {
	const rule = "approvals.shared"
	if same.ended {
		const why = "the same question was put before, and ended without an answer"
		return false, errors.Join(errors.New(why), g.settled(ctx, q, policy.Deny, rule, why))
	}
	if !same.yes {
		return false, g.settled(ctx, q, policy.Deny, rule, "the client has refused the same, which it was asked before")
	}
	if err := g.settled(ctx, q, policy.Accept, rule, "the client has allowed the same, which it was asked before"); err != nil {
		return false, err
	}
	g.items.accept(q)
	return true, nil
}

// tooMany puts on record that the person is not asked, and why.
func (g *Gate) tooMany(ctx context.Context, q *question, reason string) error {
	return errors.Join(errors.New(reason), g.settled(ctx, q, policy.Deny, "approvals.limit", reason))
}

// put asks the person. The item is on its way for the client, then, as codex would say
// it: before the question its start, and its end when the answer is no.
func (g *Gate) put(ctx context.Context, q *question, key approvals.Key) (yes bool, err error) {
	if item := q.item("inProgress"); item != nil && g.o.Judge.Hears("item/started") {
		g.items.announce(q.id())
		g.peer.Notify("item/started", q.about("startedAtMs", item))
	}
	defer func() {
		if item := q.item("declined"); !yes && item != nil && g.o.Judge.Hears("item/completed") {
			g.peer.Notify("item/completed", q.about("completedAtMs", item))
		}
	}()
	result, err := g.peer.AskUser(ctx, q.call.Thread(), q.method, q.params)
	if late := context.Cause(ctx); err != nil && late != nil {
		err = late
		if settled := g.settled(context.WithoutCancel(ctx), q, policy.Deny, "approvals.timeout", late.Error()); settled != nil {
			g.o.Log.Error("an approval can't be put on record", "method", q.method, "error", settled)
		}
	}
	if err != nil {
		return false, err
	}
	said := q.read(result)
	if said.cancel {
		// As codex does it: of the call, the model is told nothing any more.
		_, err := g.peer.Call(ctx, "turn/interrupt", map[string]string{"threadId": q.call.Thread(), "turnId": q.call.TurnID})
		return false, err
	}
	if !said.yes {
		return false, nil
	}
	if err := g.record(ctx, q, result); err != nil {
		g.o.Log.Error("an approval can't be put on record, and does not count", "method", q.method, "error", err)
		return false, errors.New("what they have allowed can't be written to the decision log")
	}
	g.items.accept(q)
	if said.span != approvals.Off {
		if _, err := g.o.Memory.Remember(ctx, key, said.span, approvals.Origin{Client: g.o.Judge.Client(), What: q.what}); err != nil {
			g.o.Log.Info("an approval is not remembered", "method", q.method, "error", err)
		}
	}
	return true, nil
}

// settled puts on record what was answered in the person's place.
func (g *Gate) settled(ctx context.Context, q *question, v policy.Verdict, rule, reason string) error {
	asked, err := q.asked(q.params)
	if err != nil {
		return err
	}
	return g.o.Judge.Settled(ctx, asked, v, rule, reason)
}

// record records the person's consent, with the changes of a patch, which the question does not show.
func (g *Gate) record(ctx context.Context, q *question, result rpc.Value) error {
	params := maps.Clone(q.params)
	if list, ok := q.part["changes"].([]change); ok {
		params["fileChanges"] = files(list)
	}
	asked, err := q.asked(params)
	if err != nil {
		return err
	}
	return approvals.RecordConsent(ctx, g.o.Record, config.Enforce, g.o.Judge.Client(), asked, nil, result)
}

// Accepted tells whether a person has said yes to the very call that Codex asks about
// by itself; shown, that they were told it leaves the sandbox. It counts once, and in the turn
// of the call: a server's tool has no other name by which to tell a call from a later one.
func (g *Gate) Accepted(method string, params rpc.Value) (shown, ok bool) {
	turn, _ := params.Get("turnId").Text()
	return g.items.take(subject(method, params), turn)
}
