package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/codex"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/guard"
	"codex-bridge/bridge/hello"
	"codex-bridge/bridge/methods"
	"codex-bridge/bridge/rollout"
	"codex-bridge/lifecycle/threads"
	"codex-bridge/lifecycle/turns"
	"codex-bridge/relay/approvals"
	"codex-bridge/relay/gate"
	"codex-bridge/relay/telemetry"
	"codex-bridge/relay/tools"
	"codex-bridge/relay/tools/host"
	"codex-bridge/relay/trace"
)

// assembly has the parts of one conversation.
type assembly struct {
	cfg    *config.Config
	record *ledger
	log    *slog.Logger

	program *codex.Program
	hello   *hello.Hello
	guard   *guard.Guard
	relay   *hooks
	tools   *host.Feature
	bound   *threads.Feature
	options bridge.Options
	closers []func(context.Context) // called by close, in this order
}

// assemble creates the parts of a conversation. The caller closes the assembly. The goroutine
// that watches the configuration ends with ctx.
func assemble(ctx context.Context, cfg *config.Config, command codex.Command, record *ledger, log *slog.Logger) (*assembly, error) {
	a := &assembly{cfg: cfg, record: record, log: log}
	a.options = bridge.Options{
		In: os.Stdin, Out: os.Stdout,
		Command:    command,
		AnswerAll:  func() bool { return a.guard.Policy().Mode() != config.Off },
		Enforces:   func() bool { return a.guard.Enforces() },
		Urgent:     []string{"turn/interrupt", "bridge/turn/interrupt"},
		OnExit:     func(state *os.ProcessState) { a.hello.NotifyExited(state) },
		MaxMessage: int(cfg.Codex.MaxMessage),
		Grace:      time.Duration(cfg.Codex.ShutdownGrace),
		Log:        log,
	}
	if err := a.build(ctx, command); err != nil {
		a.close(ctx)
		return nil, err
	}
	return a, nil
}

func (a *assembly) build(ctx context.Context, command codex.Command) (err error) {
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
	report := newTelemetry(a.cfg, bytes, a.log)
	if report != nil {
		a.options.ByteCounts = bytes
	}
	recorder := a.recorder(tracer, report)
	if a.guard, err = newGuard(a.cfg, recorder, a.log); err != nil {
		return err
	}
	a.program = codex.NewProgram(codex.Command{Path: command.Path, Args: a.cfg.Codex.Args, Env: command.Env})
	a.guard.SetCodexCheck(func(ctx context.Context) error { return a.program.RequireVersion(ctx, enforceable(a.cfg)) })
	go a.warnTooOld(ctx) // ends with ctx
	a.guard.SetUntestedCodex(func() string { return untestedCodex(ctx, a.program) })
	a.hello = hello.New(Version, a.program.Version, a.guard, a.log)
	if nestingDepth() > 0 { // the client is an agent that another bridge started: no person reads the notices
		a.guard.SetKnowsBridge(func() bool { return true })
	}
	a.hello.AddStatus("codexRules", func() any { return userRules(a.guard.UserRules()) })
	var after []tools.After
	if tracer != nil {
		after = append(after, timeouts(tracer))
	}
	relay, injects := newHooks(a.cfg, a.guard, a.hello, a.log)
	a.relay, a.tools = relay, newTools(a.cfg, a.guard, a.hello, relay, a.log, after...)
	images := newImages(a.cfg, command, a.guard, a.hello)
	children, err := newAgents(a.cfg, a.guard, a.hello, a.log)
	if err != nil {
		return err
	}
	go watch(ctx, a.cfg, a.log, a.hello.NotifyReloaded, a.guard.SetPolicy, relay.setConfig, a.tools.SetConfig, images.SetConfig, children.setConfig) // ends with ctx

	memory := approvals.NewMemory(approvals.MemoryOptions{Approvals: relay.approvals, Store: a.record.store, Secrets: secrets(a.cfg)})
	a.hello.AddMethods(approvals.GrantMethods...)
	bound, line := a.conversations()
	relay.gate = gate.New(gate.Options{
		Approvals: relay.approvals, Policy: a.guard, Memory: memory, Limiter: relay.limiter,
		Record: recorder, HasPerson: line.Answers, Log: a.log,
	})
	a.addFeatures(a.guard.BridgeMethods(bound.ThreadOf), line, a.hello, bound, images, children, approvals.NewGrantFeature(memory, a.hello.KnowsBridge), a.tools.ToolMethods(),
		a.guard.MethodQuestions(a.hello, func() time.Duration { return time.Duration(relay.approvals().Timeout) }), a.guard, relay.gate,
		approvals.New(approvals.Options{
			Approvals: relay.approvals, Policy: a.guard, Memory: memory, Gate: relay.gate, Sessions: sessions{bound, line, a.log}, Record: recorder,
			Limiter: relay.limiter, Log: a.log,
		}))
	a.addFeatures(injects...)
	a.addFeatures(a.tools)

	a.onClose(func(context.Context) { closeTools(a.tools) })
	a.onClose(func(context.Context) { closeAgents(children) })
	a.onClose(func(context.Context) {
		if err := relay.Close(); err != nil {
			a.log.Error("can't close the socket of the hooks", "error", err)
		}
	})
	a.onClose(func(ctx context.Context) {
		if err := bound.Close(ctx); err != nil {
			a.log.Error("the sessions of this process were not given back; they are free all the same, since it ends", "error", err)
		}
	})
	a.addRecorders(tracer, report, line)
	return nil
}

// enforceable returns the oldest Codex with which a policy is enforced. A lower codex.min_version does
// not count.
//
// Measured: before 0.166.0 hooks/list takes no thread, so it does not show whether the bridge's hooks
// are in force. The hook of a shell command also has the folder of the thread instead of the one in
// which the command runs.
func enforceable(cfg *config.Config) string {
	oldest := config.Default().Codex.MinVersion
	if codex.CompareVersions(cfg.Codex.MinVersion, oldest) < 0 {
		return oldest
	}
	return cfg.Codex.MinVersion
}

// untestedCodex returns a sentence for the user if Codex is newer than the tested one; "" otherwise.
func untestedCodex(ctx context.Context, program *codex.Program) string {
	version, err := program.Version(ctx)
	if err != nil || codex.CompareVersions(version, methods.Measured) <= 0 {
		return ""
	}
	return fmt.Sprintf("Codex %s is newer than %s, with which this codex-bridge was tested. The bridge refuses methods and removes fields that it does not know, unless policy.unknown_methods allows them. \"codex-bridge methods diff\" lists them.", version, methods.Measured)
}

// warnTooOld logs a warning if Codex is older than the configured codex.min_version. Only an
// enforced policy refuses such a Codex.
func (a *assembly) warnTooOld(ctx context.Context) {
	place := a.cfg.Place("codex.min_version")
	if place == "" || a.guard.Enforces() {
		return
	}
	if err := a.program.RequireVersion(ctx, a.cfg.Codex.MinVersion); err != nil && ctx.Err() == nil {
		a.log.Warn("codex is used although it does not satisfy codex.min_version; only policy.mode \"enforce\" refuses it", "reason", err, "set", place)
	}
}

// recorder returns the decision log, extended by the trace and the telemetry if these are on.
func (a *assembly) recorder(tracer *trace.Recorder, report *telemetry.Telemetry) guard.Recorder {
	recorder := guard.Recorder(a.record)
	if tracer != nil {
		recorder = tracingRecorder{recorder, tracer}
	}
	if report != nil {
		recorder = exportingRecorder{recorder, report}
	}
	return recorder
}

// conversations are the threads of sessions, and their turns.
func (a *assembly) conversations() (*threads.Feature, *turns.Feature) {
	home := a.guard.CodexHome()
	of := threads.Options{
		Store: a.record.store, Thread: a.relay.thread, Known: a.hello.KnowsBridge, Offered: a.tools.OfferedTools, Now: time.Now, Log: a.log,
		Size: func(thread string) (int64, error) { return rollout.Size(home, thread) },
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
	a.onClose(func(context.Context) { line.Close() })
	return bound, line
}

// addRecorders adds the features that record messages. They come after all other features, and
// close last.
func (a *assembly) addRecorders(tracer *trace.Recorder, report *telemetry.Telemetry, line *turns.Feature) {
	mirror := newTranscript(a.cfg, a.record, a.log)
	if mirror != nil {
		a.addFeatures(mirror)
		a.onClose(func(context.Context) { mirror.Close() })
	}
	if report != nil {
		a.addFeatures(report)
		a.onClose(func(context.Context) { closeTelemetry(report, a.log) })
	}
	a.addFeatures(line.Last())
	if tracer != nil {
		a.options.Observer = tracer
		a.onClose(func(context.Context) { tracer.Close() })
	}
	showTrace(a.hello, a.cfg, tracer)
	showTranscript(a.hello, a.cfg, mirror)
}

func (a *assembly) addFeatures(features ...bridge.Feature) {
	a.options.Features = append(a.options.Features, features...)
}

func (a *assembly) onClose(end func(context.Context)) { a.closers = append(a.closers, end) }

// close closes the parts.
func (a *assembly) close(ctx context.Context) {
	for _, end := range a.closers {
		end(ctx)
	}
}
