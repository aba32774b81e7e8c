// Package approvals answers what Codex asks in the person's place where the person has
// answered exactly that before, and says no where nobody answers in time.
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
	// Enforces tells whether the policy is in force.
	Enforces() bool
	// Stays tells whether an accept keeps what is asked about in the sandbox.
	Stays(method string, params rpc.Value) bool
	// Workspace is the folder of a thread; "" unknown.
	Workspace(thread string) string
	// Settled puts on record how a question was answered for the person; what is not on
	// record must not be accepted.
	Settled(ctx context.Context, asked *rpc.Envelope, verdict policy.Verdict, rule, reason string) error
	// Client is who answers, as it calls itself.
	Client() string
}

// Options are what a Feature is made of.
type Options struct {
	Approvals func() config.Approvals // those of the configuration at hand
	Judge     Judge
	Memory    *grants.Memory
	Log       *slog.Logger
}

// Feature is a bridge.Feature.
type Feature struct{ Options }

// New makes a Feature.
func New(o Options) *Feature { return &Feature{o} }

// kinds are the questions that are approvals.
var kinds = []string{
	"item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
	"execCommandApproval", "applyPatchApproval", elicitation,
}

const elicitation = "mcpServer/elicitation/request"

// Routes implements bridge.Feature.
func (f *Feature) Routes() []bridge.Route {
	var routes []bridge.Route
	for _, method := range kinds {
		routes = append(routes, bridge.Route{
			From: bridge.Codex, Method: method, Why: "answered from memory, or declined when nobody answers in time", Said: f.asked,
		})
	}
	return routes
}

func (f *Feature) asked(ctx context.Context, said *bridge.Said) {
	params := said.Root().Get("params")
	if !f.Judge.Enforces() || !said.ID.IsValid() {
		return
	}
	if said.Method == elicitation && !params.Get("_meta").Get("codex_approval_kind").Is("mcp_tool_call") {
		return // a question of a server's own, which takes as long as the person likes
	}
	if key, what, ok := f.key(said.Method, params); ok {
		if f.fromMemory(ctx, said, key) {
			return
		}
		said.OnReply(func(r *bridge.Reply) { f.remember(ctx, said.Method, r, key, what) })
	}
	wait := time.Duration(f.Approvals().Timeout)
	envelope := said.Clone()
	said.Within(wait, func() []byte {
		f.settled(ctx, envelope, policy.Deny, "approvals.timeout", "nobody answered within "+wait.String())
		return result(envelope.Method, envelope.Root().Get("params"), answer.Unavailable)
	})
}

// fromMemory answers a question that was answered before.
func (f *Feature) fromMemory(ctx context.Context, said *bridge.Said, key grants.Key) bool {
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
func (f *Feature) remember(ctx context.Context, method string, r *bridge.Reply, key grants.Key, what string) {
	span := lasting(method, r.Root().Get("result"))
	if span == grants.Off || !accepted(method, r.Line) {
		return
	}
	if _, err := f.Memory.Remember(ctx, key, span, grants.Origin{Client: f.Judge.Client(), What: what}); err != nil {
		f.Log.Info("an approval is not remembered", "method", method, "error", err)
	}
}

func (f *Feature) settled(ctx context.Context, asked *rpc.Envelope, v policy.Verdict, rule, reason string) bool {
	if err := f.Judge.Settled(ctx, asked, v, rule, reason); err != nil {
		f.Log.Error("an approval can't be put on record", "method", asked.Method, "error", err)
		return false
	}
	return true
}

// result is the answer to a question; nil where there is none that says so.
func result(method string, params rpc.Value, o answer.Outcome) []byte {
	if method == elicitation {
		return answer.Elicitation(answer.ToPerson, params, o)
	}
	raw, ok := answer.Approval(method, params, o)
	if !ok {
		return nil
	}
	return raw
}

// key is what exactly is asked for; false where it can't be said, or must not be
// remembered.
func (f *Feature) key(method string, params rpc.Value) (key grants.Key, what string, ok bool) {
	thread, _ := params.Get("threadId").Text()
	asked := grants.Asked{Provider: "codex", Session: thread, Workspace: f.Judge.Workspace(thread)}
	input := map[string]json.RawMessage{}
	switch {
	case f.Approvals().Remember == string(grants.Off) || !f.Judge.Stays(method, params):
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

// accepted tells whether the answer that codex gets is a yes.
func accepted(method string, line []byte) bool {
	m, err := rpc.ParseMessage(line)
	if err != nil {
		return false
	}
	result := m.Root().Get("result")
	if method == elicitation {
		return result.Get("action").Is("accept")
	}
	return result.Get("decision").Is("accept")
}
