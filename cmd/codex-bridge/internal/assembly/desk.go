package assembly

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/relay/desk"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

const ruleDesk = "approvals.desk"

// clientDesk is the desk of a client, which asks the second person of rules with approvers.
type clientDesk struct {
	desk  *desk.Desk
	guard *guard.Guard
}

// newDesk returns the desk of a client, without the guard.
func newDesk(cfg func() config.Desk, record *decisionlog.Log, log *slog.Logger) *clientDesk {
	d := &clientDesk{}
	d.desk = desk.New(desk.Options{
		Config: cfg,
		Store: func(ctx context.Context) (desk.Store, error) {
			s, err := record.Store(ctx)
			if err != nil {
				return nil, err // not a nil *store.Store in an interface
			}
			return s, nil
		},
		Accept: func(ctx context.Context, r desk.Request, reason string) error {
			return recordDesk(ctx, d.guard, r, policy.Accept, reason)
		},
		Secret: os.Getenv,
		Now:    time.Now,
		Log:    log,
	})
	return d
}

// recordDesk logs the result of a request, as an answer to the question that Codex would ask.
func recordDesk(ctx context.Context, g *guard.Guard, r desk.Request, v policy.Verdict, reason string) error {
	params, err := json.Marshal(map[string]string{"threadId": r.Thread, "turnId": r.Turn, "itemId": r.Item, "command": r.Command, "cwd": r.Cwd})
	if err != nil {
		return err
	}
	asked, err := rpc.ParseEnvelope(rpc.EncodeRequest(rpc.NewStringID(r.Item), "item/commandExecution/requestApproval", params))
	if err != nil {
		return err
	}
	return g.RecordAnswer(ctx, asked, v, ruleDesk, reason, r.Facts)
}

// ask asks the approvers of a rule about a call.
func (d *clientDesk) ask(ctx context.Context, h *core.Hooks, call *hook.Call, r guard.Ruling) hook.Answer {
	use, err := core.UseOf(call)
	if err != nil {
		return hook.Answer{Decision: hook.Deny, Reason: h.RefuseUnreadable(ctx, call, err)}
	}
	sum := sha256.Sum256(call.ToolInput)
	asked := desk.Request{
		Rule: r.Approvers.Rule, Client: d.guard.Client(), Thread: call.Thread(), Turn: call.TurnID, Item: call.ToolUseID,
		Command: use.Summary(), Input: hex.EncodeToString(sum[:]), Cwd: call.Cwd, Shell: r.Shell,
		Sandbox: d.guard.Sandbox(call.Thread(), call.TurnID), Outside: r.Approvers.Leaves, Facts: r.Facts,
	}
	asked.Need(r.Approvers.Groups)
	if err := d.desk.Ask(ctx, asked); err != nil {
		reason := "no second person has approved this command: " + problem.Text(err)
		_ = recordDesk(context.WithoutCancel(ctx), d.guard, asked, policy.Deny, reason) // it is denied even if this fails
		return hook.Answer{Decision: hook.Deny, Reason: reason + ". " + hook.AdviceForModel}
	}
	if call.Program != "" {
		return hook.Answer{} // Codex asks no question about it
	}
	d.guard.Approve(call.Thread(), call.TurnID, call.ToolUseID, r.Approvers.Leaves)
	return hook.Answer{}
}
