// Package core assembles the parts that say yes or no: the guard, the hooks, the questions to a person and the program
// starts of one Codex. Features are added by the program that imports it; this package links none.
package core

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/mountpoint"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/inject"
)

// State keeps decisions, the gates of threads, and remembered approvals.
type State interface {
	guard.Recorder
	guard.GateRecord
	// Grants returns the store of the approvals that are remembered for a workspace.
	Grants(context.Context) (approvals.Store, error)
}

// Shared has what the conversations of all clients of one Codex share.
type Shared struct {
	Command codex.Command
	Log     *slog.Logger

	Program *codex.Program
	Guard   *guard.Guard // of no client
	Inject  *inject.Feature
	Socket  *HookSocket
	Memory  *approvals.Memory
	Limiter *approvals.Limiter
	Calls   approvals.MCPCalls
	Asked   *handlers.Calls // that a person was asked about
	Config  atomic.Pointer[config.Config]
	Starts  *ProgramStarts

	mountPoints *mountpoint.Keeper
}

// SharedOptions configure a Shared.
type SharedOptions struct {
	Config    *config.Config
	Setup     settings.Setup
	Workspace string // whose configuration Config is; "": none
	Command   codex.Command
	State     State
	// Untested returns a sentence for the user about a Codex that the bridge was not tested with; "" for none.
	Untested func(*codex.Program) string
	Log      *slog.Logger
}

// NewShared creates the shared parts of one Codex. The caller closes them.
func NewShared(o SharedOptions) (*Shared, error) {
	s := &Shared{Command: o.Command, Log: o.Log, Inject: inject.New(inject.Options{}), Socket: newHookSocket(o.Setup, o.Config, o.Log), Limiter: approvals.NewLimiter(), Asked: new(handlers.Calls)}
	s.Config.Store(o.Config)
	var err error
	if s.Guard, err = o.Setup.NewGuard(o.Config, s.Config.Load, o.State, o.Log); err != nil {
		return nil, err
	}
	s.Guard.SetGateRecord(o.State)
	s.Guard.SetFolderPolicies(o.Setup.FolderPolicies(o.Workspace, func() bool { return s.Config.Load().Skipped() }, o.Log))
	if folder, err := statefolder.Path(); err == nil {
		s.mountPoints = mountpoint.New(filepath.Join(folder, "mountpoints"), o.Log)
	}
	s.Guard.SetMountPoints(s.mountPoints)
	s.Starts = newProgramStarts(o.Config, s.Guard, s.Socket.isCommand, o.Log)
	s.Command.Supervisor = s.Starts.Supervisor
	s.Guard.SetProgramStarts(s.Starts.Supervisor.Holds)
	s.Guard.SetUnsupervised(s.Starts.Lacking)
	s.Guard.SetTurnEnded(s.Starts.Programs.EndTurns)
	s.Program = codex.NewProgram(codex.Command{Path: o.Command.Path, Args: o.Config.Codex.Args, Env: o.Command.Env})
	s.Guard.HoldRequirements(o.Setup.Files(settings.Workspace()).Requirements)
	s.Guard.SetCodexCheck(func(ctx context.Context) error { return s.Program.RequireVersion(ctx, Enforceable(s.Config.Load())) })
	s.Guard.SetUntestedCodex(func() string { return o.Untested(s.Program) })
	s.Memory = approvals.NewMemory(approvals.MemoryOptions{
		Approvals: func() config.Approvals { return s.Config.Load().Approvals }, Store: o.State.Grants, Secrets: o.Setup.Secrets(o.Config),
	})
	return s, nil
}

// SetConfig applies a changed configuration.
func (s *Shared) SetConfig(cfg *config.Config) { s.Config.Store(cfg) }

// IsHooked reports whether Codex runs the bridge's hook before each tool call of a thread.
func (s *Shared) IsHooked(thread string) bool { return s.Inject.IsActive(thread, hook.PreToolUse) }

// Parts returns the parts of the bridge that close after Codex has ended, each within its own time.
func (s *Shared) Parts() []Part {
	return []Part{
		{sharedGrace, func(context.Context) { s.mountPoints.Close() }},
		{sharedGrace, func(context.Context) { s.Starts.Programs.Close() }},
		{sharedGrace, func(context.Context) {
			if err := s.Socket.Close(); err != nil {
				s.Log.Error("can't close the socket of the hooks", "error", err)
			}
		}},
	}
}

// sharedGrace is how long a shared part may take to end.
const sharedGrace = 3 * time.Second

// SetPolicy applies a changed policy to a Codex whose only client has the guard g.
func (s *Shared) SetPolicy(ctx context.Context, g *guard.Guard, p *policy.Policy) {
	unverified := g.SetPolicy(p)
	s.Starts.Changed(p, s.Log, g)
	if !unverified || !g.HasClient() { // before initialize there are no turns
		return
	}
	go func() { // ends with ctx
		if err := g.InterruptTurns(ctx, s.IsHooked, g); err != nil && ctx.Err() == nil {
			s.Log.Error("turns may go on that began before the policy was enforced; restart the editor's session with codex", "error", err)
		}
	}()
}

// Enforceable returns the versions of Codex with which a policy is enforced.
func Enforceable(cfg *config.Config) codex.Range {
	return codex.Range{Min: cfg.OldestCodex(), Max: cfg.Codex.MaxVersion, MaxPlace: cfg.Place("codex.max_version")}
}

// WarnOutOfRange logs a warning if Codex is older than the configured codex.min_version, or newer than
// codex.max_version. Only an enforced policy refuses such a Codex.
func (s *Shared) WarnOutOfRange(ctx context.Context) {
	cfg := s.Config.Load()
	for key, limit := range map[string]codex.Range{
		"codex.min_version": {Min: cfg.Codex.MinVersion},
		"codex.max_version": {Max: cfg.Codex.MaxVersion, MaxPlace: cfg.Place("codex.max_version")},
	} {
		place := cfg.Place(key)
		if place == "" || limit == (codex.Range{MaxPlace: place}) || s.Guard.Enforces() {
			continue
		}
		if err := s.Program.RequireVersion(ctx, limit); err != nil && ctx.Err() == nil {
			s.Log.Warn("codex is used although it does not satisfy "+key+"; only policy.mode \"enforce\" refuses it", "reason", err, "set", place)
		}
	}
}
