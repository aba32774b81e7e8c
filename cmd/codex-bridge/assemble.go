package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/mountpoint"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/lifecycle/threads"
	"codex-bridge.example/lifecycle/turns"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/inject"
	"codex-bridge.example/relay/telemetry"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/host"
	"codex-bridge.example/relay/trace"
	"codex-bridge.example/rpc"
	"codex-bridge.example/serve"
)

// sharedParts are what the conversations of all clients of one Codex share.
type sharedParts struct {
	command codex.Command
	record  *ledger
	log     *slog.Logger

	program *codex.Program
	guard   *guard.Guard // of no client
	inject  *inject.Feature
	socket  *hookSocket
	memory  *approvals.Memory
	limiter *approvals.Limiter
	calls   approvals.MCPCalls
	asked   *handlers.Calls // that a person was asked about
	owners  threads.Owners  // of sessions
	config  atomic.Pointer[config.Config]

	mountPoints *mountpoint.Keeper
	starts      *programStarts
}

// newSharedParts creates the shared parts of one Codex under the configuration of a workspace; "" means none. The
// caller closes them.
func newSharedParts(cfg *config.Config, workspace string, command codex.Command, record *ledger, log *slog.Logger) (*sharedParts, error) {
	s := &sharedParts{command: command, record: record, log: log, inject: inject.New(inject.Options{}), socket: newHookSocket(cfg, log), limiter: approvals.NewLimiter(), asked: new(handlers.Calls)}
	s.config.Store(cfg)
	var err error
	if s.guard, err = setup.NewGuard(cfg, s.config.Load, record, log); err != nil {
		return nil, err
	}
	s.guard.SetGateRecord(record)
	s.guard.SetFolderPolicies(setup.FolderPolicies(workspace, func() bool { return s.config.Load().Skipped() }, log))
	if folder, err := statefolder.Path(); err == nil {
		s.mountPoints = mountpoint.New(filepath.Join(folder, "mountpoints"), log)
	}
	s.guard.SetMountPoints(s.mountPoints)
	s.starts = newProgramStarts(cfg, s.guard, s.socket.isCommand, log)
	s.command.Supervisor = s.starts.supervisor
	s.guard.SetProgramStarts(s.starts.supervisor.Holds)
	s.guard.SetUnsupervised(s.starts.lacking)
	s.guard.SetTurnEnded(s.starts.programs.EndTurns)
	s.program = codex.NewProgram(codex.Command{Path: command.Path, Args: cfg.Codex.Args, Env: command.Env})
	s.guard.HoldRequirements(configFiles().Requirements)
	s.guard.SetCodexCheck(func(ctx context.Context) error { return s.program.RequireVersion(ctx, enforceable(s.config.Load())) })
	s.guard.SetUntestedCodex(func() string { return untestedCodex(context.Background(), s.program, log) })
	s.memory = approvals.NewMemory(approvals.MemoryOptions{
		Approvals: func() config.Approvals { return s.config.Load().Approvals }, Store: record.grants, Secrets: setup.Secrets(cfg),
	})
	return s, nil
}

// setConfig applies a changed configuration.
func (s *sharedParts) setConfig(cfg *config.Config) { s.config.Store(cfg) }

// isHooked reports whether Codex runs the bridge's hook before each tool call of a thread.
func (s *sharedParts) isHooked(thread string) bool { return s.inject.IsActive(thread, hook.PreToolUse) }

// parts returns the parts of the bridge that close after Codex has ended, each within its own time.
func (s *sharedParts) parts() []part {
	return []part{
		{sharedGrace, func(context.Context) { s.mountPoints.Close() }},
		{sharedGrace, func(context.Context) { s.starts.programs.Close() }},
		{sharedGrace, func(context.Context) {
			if err := s.socket.Close(); err != nil {
				s.log.Error("can't close the socket of the hooks", "error", err)
			}
		}},
	}
}

// sharedGrace is how long a shared part may take to end.
const sharedGrace = 3 * time.Second

// assembly has the parts of one conversation.
type assembly struct {
	*sharedParts
	cfg *config.Config
	log *slog.Logger

	hello     *hello.Hello
	guard     *guard.Guard
	relay     *hooks
	tools     *host.Feature
	bound     *threads.Feature
	answers   func() (ok bool, why string) // whether the client answers questions for a person
	options   bridge.Options
	setConfig func(*config.Config) // applies a changed configuration
	ending
}

// setPolicy applies a changed policy to a Codex that has no other client.
func (a *assembly) setPolicy(ctx context.Context, p *policy.Policy) {
	a.starts.changed(p, a.log, a.guard)
	if !a.guard.SetPolicy(p) || !a.guard.HasClient() { // before initialize there are no turns
		return
	}
	go func() { // ends with ctx
		if err := a.guard.InterruptTurns(ctx, a.isHooked, a.guard); err != nil && ctx.Err() == nil {
			a.log.Error("turns may go on that began before the policy was enforced; restart the editor's session with codex", "error", err)
		}
	}()
}

// assemble creates the parts of a conversation. client is nil if Codex has no other client. The caller
// sets In and Out of the options, and closes the assembly.
func assemble(shared *sharedParts, log *slog.Logger, client *serve.Client) (*assembly, error) {
	cfg := shared.config.Load()
	a := &assembly{sharedParts: shared, cfg: cfg, log: log}
	a.options = bridge.Options{
		AnswerAll:  func() bool { return client != nil || a.guard.Policy().Mode() != config.Off },
		Enforces:   func() bool { return a.guard.Enforces() },
		Urgent:     []string{"turn/interrupt", "bridge/turn/interrupt"},
		Reads:      isRead,
		OnExit:     func(state *os.ProcessState) { a.hello.NotifyExited(state) },
		MaxMessage: int(cfg.Codex.MaxMessage),
		Grace:      time.Duration(cfg.Codex.ShutdownGrace),
		Log:        log,
	}
	a.options.DeclineExcess = a.declineExcess
	a.options.LogRefused = func(ctx context.Context, m *rpc.Message, line []byte, refused *rpc.Error) *rpc.Error {
		return a.guard.RefusedLine(ctx, m, line, refused)
	}
	if err := a.build(client); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *assembly) build(client *serve.Client) (err error) {
	tracer, err := newTrace(a.cfg, func(thread string) string { return a.bound.OpenSession(thread) }, a.log)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && tracer != nil {
			tracer.Close()
		}
	}()
	bytes := new(bridge.ByteCounts)
	report := a.newTelemetry(bytes)
	if report != nil {
		a.options.ByteCounts = bytes
	}
	recorder := a.recorder(tracer, report)
	a.guard = a.sharedParts.guard.Join(recorder, a.log)
	if tracer != nil {
		a.guard.OnPassed(tracer.Passed)
	}
	a.hello = hello.New(Version, a.program.Version, a.guard, a.log)
	if nestingDepth() > 0 { // the client is an agent that another bridge started: no person reads the notices
		a.guard.SetKnowsBridge(func() bool { return true })
	}
	a.hello.AddStatus("configuration", func() any { return configurationStatus(a.sharedParts.config.Load()) })
	a.hello.AddStatus("programs", a.starts.status)
	a.hello.AddStatus("codexRules", func() any { return userRules(a.guard.UserRules()) })
	var after []tools.After
	if tracer != nil {
		after = append(after, timeouts(tracer))
	}
	relay, injects := newHooks(a.cfg, a.sharedParts, a.guard, a.hello, client, a.log)
	a.relay, a.tools = relay, newTools(a.cfg, client != nil, a.guard, a.hello, relay, a.log, after...)
	images := newImages(a.cfg, a.command, a.guard, a.hello)
	children, err := newAgents(a.cfg, a.guard, a.hello, a.log)
	if err != nil {
		return err
	}
	a.setConfig = func(cfg *config.Config) {
		relay.setConfig(cfg)
		a.tools.SetConfig(cfg)
		images.SetConfig(cfg)
		children.setConfig(cfg)
	}
	a.hello.AddMethods(approvals.GrantMethods...)
	bound, line := a.conversations()
	a.answers = line.Answers
	gate := handlers.GateOptions{
		Approvals: relay.approvals, Policy: a.guard, Memory: a.memory, Limiter: a.limiter, Calls: a.asked,
		Record: recorder, HasPerson: line.Answers, KnowsBridge: a.hello.KnowsBridge, Log: a.log,
	}
	if client != nil {
		gate.Audience = client.Clients()
	}
	relay.gate = handlers.NewGate(gate)
	relay.desk = newDesk(func() config.Desk { return relay.approvals().Desk }, a.record, a.guard, a.log)
	questions := approvals.Options{
		Approvals: relay.approvals, Policy: a.guard, Memory: a.memory, Gate: relay.gate, Sessions: sessions{bound, line, a.log}, Record: recorder,
		Limiter: a.limiter, KnowsBridge: a.hello.KnowsBridge, Log: a.log, Calls: &a.calls,
		Unattended: os.Getenv(settings.OwnCodexEnv) == execCodex,
		KnowsCalls: func(thread string) bool {
			return relay.inject.IsActive(thread, hook.PreToolUse) && relay.inject.IsActive(thread, hook.PermissionRequest)
		},
	}
	if client != nil {
		a.addFeatures(client)
		a.guard.SetOtherSubscribers(client.IsShared)
		questions.Expire = client.Expire
	}
	relay.questions = approvals.New(questions)
	a.addFeatures(a.guard.BridgeMethods(bound.ThreadOf), line, a.hello, bound, images, children, approvals.NewGrantFeature(a.memory, a.hello.KnowsBridge), a.tools.ToolMethods())
	if client != nil {
		a.addFeatures(client.Requests())
	}
	a.addFeatures(a.guard.MethodQuestions(a.hello, func() time.Duration { return time.Duration(relay.approvals().Timeout) }), a.guard, relay.gate,
		relay.questions)
	a.addFeatures(injects...)
	a.addFeatures(a.tools)
	if client != nil {
		a.addFeatures(client.Last())
	}

	a.workers = append(a.workers, part{toolsGrace, a.tools.Close}, part{agentsGrace, children.Close})
	a.state = append(a.state, func(ctx context.Context) {
		if err := bound.Close(ctx); err != nil {
			a.log.Error("the sessions of this process were not given back; they are free all the same, since it ends", "error", err)
		}
	})
	a.addRecorders(tracer, report, line)
	return nil
}

// isRead reports whether a request of the client changes nothing.
func isRead(method string) bool {
	row, known := methods.Lookup(methods.ClientRequest, method)
	return known && row.Class == methods.Read
}

// enforceable returns the versions of Codex with which a policy is enforced.
func enforceable(cfg *config.Config) codex.Range {
	return codex.Range{Min: cfg.OldestCodex(), Max: cfg.Codex.MaxVersion, MaxPlace: cfg.Place("codex.max_version")}
}

// warnOutOfRange logs a warning if Codex is older than the configured codex.min_version, or newer than
// codex.max_version. Only an enforced policy refuses such a Codex.
func (s *sharedParts) warnOutOfRange(ctx context.Context) {
	cfg := s.config.Load()
	for key, limit := range map[string]codex.Range{
		"codex.min_version": {Min: cfg.Codex.MinVersion},
		"codex.max_version": {Max: cfg.Codex.MaxVersion, MaxPlace: cfg.Place("codex.max_version")},
	} {
		place := cfg.Place(key)
		if place == "" || limit == (codex.Range{MaxPlace: place}) || s.guard.Enforces() {
			continue
		}
		if err := s.program.RequireVersion(ctx, limit); err != nil && ctx.Err() == nil {
			s.log.Warn("codex is used although it does not satisfy "+key+"; only policy.mode \"enforce\" refuses it", "reason", err, "set", place)
		}
	}
}

// recorder returns the decision log, extended by the trace and the telemetry if these are on.
func (a *assembly) recorder(tracer *trace.Recorder, report *telemetry.Telemetry) guard.Recorder {
	recorder := guard.Recorder(a.record)
	if tracer != nil {
		recorder = tracingRecorder{recorder, tracer}
	}
	if report != nil {
		recorder = exportingRecorder{recorder, report, a.record.redacted}
	}
	return recorder
}

// conversations are the threads of sessions, and their turns.
func (a *assembly) conversations() (*threads.Feature, *turns.Feature) {
	home := a.guard.CodexHome()
	of := threads.Options{
		Store: a.record.store, Thread: a.relay.thread, Known: a.hello.KnowsBridge, Offered: a.tools.OfferedTools, Now: time.Now, Log: a.log,
		Owners: &a.owners,
		Size:   func(thread string) (int64, error) { return rollout.Size(home, thread) },
	}
	if host.Configured(a.cfg) {
		of.Kept, of.Warn = a.tools.StaleTools, a.tools.Warn
		of.Settings, of.Resumed = a.guard.LastSettings, a.guard.Resumed
		of.History = func(path string) ([]json.RawMessage, error) { return rollout.History(home, path) }
	}
	bound := threads.New(of)
	a.bound = bound
	a.hello.AddMethods(threads.Methods...)
	line := turns.New(turns.Options{
		Threads: bound, Steering: a.relay.steering, Known: a.hello.KnowsBridge, Tell: a.hello.Notify, Judge: a.guard, Log: a.log,
	})
	a.hello.AddMethods(turns.Methods...)
	a.hello.AddStatus("turns", func() any { return line.State() })
	a.hello.AddStatus("sessions", func() any { return bound.State().Sessions })
	a.hello.AddStatus("threads", func() any {
		if a.guard.Enforces() {
			return a.guard.Threads()
		}
		return len(bound.All())
	})
	a.workers = append(a.workers, part{turnsGrace, func(context.Context) { line.Close() }})
	return bound, line
}

// addRecorders adds the features that record messages. They come after all other features.
func (a *assembly) addRecorders(tracer *trace.Recorder, report *telemetry.Telemetry, line *turns.Feature) {
	mirror := newTranscript(a.cfg, a.record, a.log)
	if mirror != nil {
		a.addFeatures(mirror)
		a.state = append(a.state, mirror.Close)
	}
	if report != nil {
		a.addFeatures(report)
		a.recorders = append(a.recorders, part{recordersGrace, func(ctx context.Context) { closeTelemetry(ctx, report, a.log) }})
	}
	a.addFeatures(line.Last())
	if tracer != nil {
		a.options.Observer = tracer
		a.recorders = append(a.recorders, part{recordersGrace, func(context.Context) { tracer.Close() }})
	}
	showTrace(a.hello, a.cfg, tracer)
	showTranscript(a.hello, a.cfg, mirror)
	showFleet(a.hello, a.cfg, a.record)
}

func (a *assembly) addFeatures(features ...bridge.Feature) {
	a.options.Features = append(a.options.Features, features...)
}

// close closes the conversation, but not what it shares with others.
func (a *assembly) close() {
	a.closeParts()
	a.closeState()
}
