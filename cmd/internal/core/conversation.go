package core

import (
	"context"
	"log/slog"
	"os"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/userrules"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// Conversation has the core's parts of the conversation with one client.
type Conversation struct {
	*Shared
	Guard *guard.Guard
	Hello *hello.Hello
	Hooks *Hooks

	log *slog.Logger
}

// ConversationOptions configure a Conversation.
type ConversationOptions struct {
	Version  string
	Recorder guard.Recorder // the decision log
	// IsAgent: the client is an agent that another bridge started, so no person reads the notices.
	IsAgent bool
	// IsShared reports whether another client of Codex has a thread open; nil: there is no other client.
	IsShared func(thread string) bool
	// HooksChanged is called when the state of the installed hooks has changed. It must not wait.
	HooksChanged func()
	// AskDesk asks the second person that a rule demands; nil: there is no approval desk, and the call is denied.
	AskDesk func(context.Context, *Hooks, *hook.Call, guard.Ruling) hook.Answer
	Log     *slog.Logger
}

// Join creates a conversation with a client. Call AskPeople before the conversation starts.
func (s *Shared) Join(o ConversationOptions) *Conversation {
	c := &Conversation{Shared: s, Guard: s.Guard.Join(o.Recorder, o.Log), log: o.Log}
	c.Hello = hello.New(o.Version, s.Program.Version, c.Guard, o.Log)
	if o.IsAgent {
		c.Guard.SetKnowsBridge(func() bool { return true })
	}
	c.Hello.AddStatus("programs", s.Starts.Status)
	c.Hello.AddStatus("codexRules", func() any { return userRules(c.Guard.UserRules()) })
	if o.HooksChanged == nil {
		o.HooksChanged = func() { c.Hello.Notify(HooksState, c.Hooks.Inject.State()) }
		c.Hello.AddStatus("hooks", func() any { return c.Hooks.Inject.State() })
	}
	c.Hooks = newHooks(s, c.Guard, c.Hello, o)
	return c
}

// HooksState is the notification about the state of the installed hooks.
const HooksState = "bridge/hooks/state"

// userRules returns the codexRules entry of bridge/status.
func userRules(set *userrules.Set) map[string]any {
	row := map[string]any{"lets": len(set.Allowing())}
	if set.Err != nil {
		row["fault"] = set.Err.Error()
	}
	return row
}

// PeopleOptions say which people a conversation asks.
type PeopleOptions struct {
	Record    approvals.DecisionLog
	HasPerson func() (ok bool, why string) // whether the client answers questions for a person
	Sessions  approvals.Sessions
	Audience  handlers.Audience // the other clients of Codex; nil: there is none
	Expire    func(asked *rpc.Envelope, wait time.Duration) (left time.Duration)
	// Unattended: the client has no person, and declines each question.
	Unattended bool
}

// AskPeople creates what asks people about tool calls, and what answers Codex's questions for them.
func (c *Conversation) AskPeople(o PeopleOptions) {
	h := c.Hooks
	h.gate = handlers.NewGate(handlers.GateOptions{
		Approvals: h.Approvals, Policy: c.Guard, Memory: c.Memory, Limiter: c.Limiter, Calls: c.Asked, Audience: o.Audience,
		Record: o.Record, HasPerson: o.HasPerson, KnowsBridge: c.Hello.KnowsBridge, Log: c.log,
	})
	h.questions = approvals.New(approvals.Options{
		Approvals: h.Approvals, Policy: c.Guard, Memory: c.Memory, Gate: h.gate, Sessions: o.Sessions, Record: o.Record,
		Limiter: c.Limiter, KnowsBridge: c.Hello.KnowsBridge, Log: c.log, Calls: &c.Calls, Expire: o.Expire, Unattended: o.Unattended,
		KnowsCalls: func(thread string) bool {
			return h.Inject.IsActive(thread, hook.PreToolUse) && h.Inject.IsActive(thread, hook.PermissionRequest)
		},
	})
}

// Gate returns what asks the client about tool calls.
func (c *Conversation) Gate() *handlers.Gate { return c.Hooks.gate }

// Grants offers the client to see and to revoke remembered approvals. The feature comes before Features.
func (c *Conversation) Grants() bridge.Feature {
	c.Hello.AddMethods(approvals.GrantMethods...)
	return approvals.NewGrantFeature(c.Memory, c.Hello.KnowsBridge)
}

// Features returns what decides, in the order in which messages pass it.
func (c *Conversation) Features() []bridge.Feature {
	timeout := func() time.Duration { return time.Duration(c.Hooks.Approvals().Timeout) }
	return []bridge.Feature{c.Guard.MethodQuestions(c.Hello, timeout), c.Guard, c.Hooks.gate, c.Hooks.questions, c.Hooks.Inject}
}

// ProxyOptions returns the options of the proxy without its streams, Codex and features.
func (c *Conversation) ProxyOptions(cfg *config.Config) bridge.Options {
	return bridge.Options{
		AnswerAll: func() bool { return c.Guard.Policy().Mode() != config.Off },
		Enforces:  c.Guard.Enforces,
		Reads:     isRead,
		OnExit:    func(state *os.ProcessState) { c.Hello.NotifyExited(state) },
		LogRefused: func(ctx context.Context, m *rpc.Message, line []byte, refused *rpc.Error) *rpc.Error {
			return c.Guard.RefusedLine(ctx, m, line, refused)
		},
		DeclineExcess: func(ctx context.Context, asked *rpc.Envelope, first bool) []byte {
			c.RecordExcess(ctx, asked, first)
			return approvals.Decline(asked.Method, asked.Root().Get("params"))
		},
		Urgent:     []string{"turn/interrupt"},
		MaxMessage: int(cfg.Codex.MaxMessage),
		Grace:      time.Duration(cfg.Codex.ShutdownGrace),
		Log:        c.log,
	}
}

// ruleExcess is the rule in the decision log for a request that is declined because too many have no response.
const ruleExcess = "approvals.pending"

// RecordExcess logs that a request of Codex is declined because too many have no response. One entry stands for all
// until the client answers.
func (c *Conversation) RecordExcess(ctx context.Context, asked *rpc.Envelope, first bool) {
	if first && c.Guard.Mode() != config.Off {
		// A refusal applies even if it can't be logged.
		_ = c.Guard.RecordAnswer(ctx, asked, policy.Deny, ruleExcess, "too many requests have no response of the client; this one and those after it are declined until it answers", "")
	}
}

// isRead reports whether a request of the client changes nothing.
func isRead(method string) bool {
	row, known := methods.Lookup(methods.ClientRequest, method)
	return known && row.Class == methods.Read
}
