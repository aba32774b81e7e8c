package core

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/supervise"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/programs"
)

// ProgramStarts decides the program starts of one Codex.
type ProgramStarts struct {
	Supervisor *supervise.Supervisor // nil: the configuration does not want one
	Programs   *programs.Programs
	guard      *guard.Guard
	failure    atomic.Pointer[error] // why this system has no supervisor
}

// newProgramStarts returns the program starts of a Codex that is started with a configuration. g decides those
// whose call is not known.
func newProgramStarts(cfg *config.Config, g *guard.Guard, isHook func(line string) bool, log *slog.Logger) *ProgramStarts {
	s := &ProgramStarts{guard: g, Programs: programs.New(programs.Unknown{
		Decide: func(start supervise.Start) programs.Decision {
			return programDecision(g.Program(context.Background(), supervise.Call{}, toolcall.Call{}, start))
		},
		Refuse: func(start supervise.Start, reason string) programs.Decision {
			return programDecision(g.RefuseProgram(context.Background(), supervise.Call{}, start, reason, runAgain))
		},
		More: func(n int) { g.RecordMorePrograms(context.Background(), supervise.Call{}, n) },
	})}
	if !g.Policy().SupervisesPrograms() {
		return s
	}
	s.Supervisor = supervise.New(supervise.Options{
		Decide: s.Programs.Decide, Full: s.Programs.TooMany,
		Drained: func(n int) {
			log.Warn("too many programs waited for a decision or an answer; further ones were refused, unless the policy only audits", "programs", n)
		},
		IsHook: isHook, Required: cfg.Policy.ExecRules == "on",
		Unsupported: func(err error) {
			s.failure.Store(&err)
			log.Warn("rules for commands are applied to the lines of commands alone", "reason", err, "hint", `policy.exec_rules = "off" says that this is intended`)
		},
	})
	return s
}

// programDecision returns the decision for a program that no person can be asked about.
func programDecision(r guard.Ruling, report func()) programs.Decision {
	d := programs.Decision{Refusal: r.Refusal, Report: report}
	if r.Ask || r.Approvers != nil {
		d.Refusal = "a rule asks about it, and it can't be told which call has started it"
	}
	return d
}

// StartError returns the error for a Codex that does not start, with how to fix it.
func (s *ProgramStarts) StartError(err error, cfg *config.Config) error {
	if !errors.As(err, new(*supervise.UnsupportedError)) {
		return err
	}
	return fmt.Errorf("policy.exec_rules is \"on\" (%s), but %w; \"auto\" goes on without", cfg.Place("policy.exec_rules"), err)
}

// announce tells the supervisor of a call that Codex is about to run.
func (s *ProgramStarts) announce(call *hook.Call, use toolcall.Call, h *Hooks) {
	line, ok := use.Input.Get("command").Text()
	if s.Supervisor == nil || !ok || use.Name != "Bash" {
		return
	}
	client := &commandPrograms{Hooks: h, use: sync.OnceValues(func() (toolcall.Call, error) { return UseOf(call) })}
	s.Supervisor.Announce(s.Programs.Started(call, line, client))
}

// Status is the part of bridge/status about program starts.
func (s *ProgramStarts) Status() any {
	state := map[string]any{"supervised": s.Supervisor.Holds(), "wanted": s.guard.Policy().SupervisesPrograms()}
	switch err := s.failure.Load(); {
	case err != nil:
		state["reason"] = (*err).Error()
	case s.Supervisor == nil:
		state["reason"] = notAtStart
	}
	return state
}

// notAtStart is why the programs of a Codex are not supervised whose policy came later.
const notAtStart = "the policy did not ask for it when Codex started"

// Lacking returns why the rules of a policy do not decide where programs start, although the policy asks for it; "" if
// they do, or if it does not. Only the start of Codex can change it. A system that can't is no reason under "auto".
func (s *ProgramStarts) Lacking(p *policy.Policy) string {
	err := s.failure.Load()
	switch {
	case !p.SupervisesPrograms() || !p.HasProgramRules():
		return ""
	case s.Supervisor == nil:
		return notAtStart + "; restart the editor's session with codex"
	case err != nil && p.RequiresProgramStarts():
		return (*err).Error()
	}
	return ""
}

// Changed tells the clients that a changed policy asks for what only the start of Codex can give.
func (s *ProgramStarts) Changed(p *policy.Policy, log *slog.Logger, clients ...*guard.Guard) {
	why := s.Lacking(p)
	if why == "" {
		return
	}
	log.Warn("rules for commands are applied to the lines of commands alone until Codex starts again", "reason", why)
	for _, client := range clients {
		client.WarnUnsupervised(p)
	}
}

// commandPrograms decides the programs of one call.
type commandPrograms struct {
	*Hooks
	use func() (toolcall.Call, error) // of the call
}

// callOf returns a call as the supervisor knows it.
func callOf(call *hook.Call) supervise.Call {
	return supervise.Call{Thread: call.Thread(), Turn: call.TurnID, ID: call.ToolUseID}
}

// runAgain is the hint of a refusal that is about this start alone.
const runAgain = "run it again"

// Refuse implements programs.Client.
func (h *Hooks) Refuse(call *hook.Call, start supervise.Start, reason string) programs.Decision {
	return programDecision(h.Guard.RefuseProgram(context.Background(), callOf(call), start, reason, runAgain))
}

// More implements programs.Client.
func (h *Hooks) More(call *hook.Call, n int) {
	h.Guard.RecordMorePrograms(context.Background(), callOf(call), n)
}

// Again implements programs.Client.
func (h *commandPrograms) Again(ctx context.Context, call *hook.Call, start supervise.Start, earlier programs.Decision) (d programs.Decision, ok bool) {
	use, err := h.use()
	if err != nil {
		return programs.Decision{Refusal: err.Error()}, true
	}
	// No person is asked here, so the end of the turn is no reason to refuse.
	r, report := h.Guard.Program(context.WithoutCancel(ctx), callOf(call), use, start)
	if r.Refusal == "" && r.Basis != nil && !r.Basis.Equal(earlier.Basis) {
		return programs.Decision{}, false
	}
	return programs.Decision{Lasts: r.Refusal == "", Refusal: r.Refusal, Report: report, Consent: r.Consent, Basis: r.Basis}, true
}

// Program implements programs.Client.
func (h *commandPrograms) Program(ctx context.Context, call *hook.Call, start supervise.Start) programs.Decision {
	use, err := h.use()
	if err != nil {
		return programs.Decision{Refusal: err.Error()}
	}
	of := callOf(call)
	r, report := h.Guard.Program(ctx, of, use, start)
	switch asks := r.Ask || r.Approvers != nil; {
	case r.Refusal == "" && !asks && len(r.Exceptions) > 0:
		return programs.Decision{Lasts: true, Refusal: h.Guard.RecordProgramExceptions(ctx, of, r), Report: report, Consent: r.Consent, Basis: r.Basis}
	case r.Refusal != "" || !asks:
		return programs.Decision{Refusal: r.Refusal, Report: report, Consent: r.Consent}
	case r.Consent != "" && slices.Contains(start.Within, r.Consent):
		return programs.Decision{Refusal: h.Guard.RecordProgramExceptions(ctx, of, r)}
	}
	if line, ok := use.Input.Get("command").Text(); ok {
		r.Why = strings.TrimPrefix(r.Why+"; started by "+display.Excerpt(line), "; ")
	}
	asked := *call
	asked.Program = programs.Text(start)
	digest, known := programs.Digest(start)
	if !known {
		digest, r.Shell = rand.Text(), "" // such an answer counts once, as for an unknown shell
	}
	if asked.ToolInput, err = json.Marshal(map[string]string{"command": asked.Program, "start": digest}); err != nil {
		return programs.Decision{Refusal: err.Error()}
	}
	if len(start.Programs) > 0 {
		asked.Cwd = start.Programs[0].Dir
	}
	a := h.askPeople(ctx, &asked, r)
	if a.Decision == "" {
		accepted := programs.Decision{Lasts: true, Basis: r.Basis}
		switch now, same := h.Again(ctx, call, start, accepted); {
		case !same:
			r, report := h.Guard.RefuseProgram(ctx, of, start, "the rules about it have changed while a person was asked", runAgain)
			return programDecision(r, report)
		case now.Refusal != "":
			return now
		}
		accepted.Consent, accepted.Refusal = r.Consent, h.Guard.RecordProgramExceptions(ctx, of, r)
		return accepted
	}
	if errors.Is(context.Cause(ctx), context.Canceled) { // the program is gone
		return programs.Decision{Refusal: a.Reason}
	}
	return programs.Decision{Lasts: true, Refusal: a.ReasonForUser()}
}
