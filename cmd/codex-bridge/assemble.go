package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/lifecycle/threads"
	"codex-bridge.example/lifecycle/turns"
	"codex-bridge.example/relay/telemetry"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/host"
	"codex-bridge.example/relay/trace"
	"codex-bridge.example/serve"
)

// sharedParts are what the conversations of all clients of one Codex share.
type sharedParts struct {
	*core.Shared
	record *ledger
	owners threads.Owners // of sessions
}

// newSharedParts creates the shared parts of one Codex under the configuration of a workspace; "" means none. The
// caller closes them.
func newSharedParts(cfg *config.Config, workspace string, command codex.Command, record *ledger, log *slog.Logger) (*sharedParts, error) {
	shared, err := core.NewShared(core.SharedOptions{
		Config: cfg, Setup: setup, Workspace: workspace, Command: command, State: record, Log: log,
		Untested: func(program *codex.Program) string { return untestedCodex(context.Background(), program, log) },
	})
	if err != nil {
		return nil, err
	}
	return &sharedParts{Shared: shared, record: record}, nil
}

// assembly has the parts of one conversation.
type assembly struct {
	*core.Conversation
	shared *sharedParts
	cfg    *config.Config
	log    *slog.Logger

	tools     *host.Feature
	bound     *threads.Feature
	answers   func() (ok bool, why string) // whether the client answers questions for a person
	options   bridge.Options
	setConfig func(*config.Config) // applies a changed configuration
	core.Ending
}

// assemble creates the parts of a conversation. client is nil if Codex has no other client. The caller
// sets In and Out of the options, and closes the assembly.
func assemble(shared *sharedParts, log *slog.Logger, client *serve.Client) (*assembly, error) {
	a := &assembly{shared: shared, cfg: shared.Config.Load(), log: log}
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
	recorder := a.recorder(tracer, report)
	events := &eventStatus{}
	d := newDesk(func() config.Desk { return a.shared.Config.Load().Approvals.Desk }, a.shared.record, a.log)
	o := core.ConversationOptions{Version: Version, Recorder: recorder, IsAgent: nestingDepth() > 0, HooksChanged: events.notify, AskDesk: d.ask, Log: a.log}
	if client != nil {
		o.IsShared = client.IsShared
	}
	a.Conversation = a.shared.Join(o)
	d.guard = a.Guard
	events.addTo(a.Hello, a.Hooks.Inject)
	a.setOptions(client != nil, bytes, report)
	if tracer != nil {
		a.Guard.OnPassed(tracer.Passed)
	}
	a.Hello.AddStatus("configuration", func() any { return configurationStatus(a.shared.Config.Load()) })
	var after []tools.After
	if tracer != nil {
		after = append(after, timeouts(tracer))
	}
	a.tools = newTools(a.cfg, client != nil, a.Guard, a.Hello, a.Hooks, a.log, after...)
	images := newImages(a.cfg, a.Command, a.Guard, a.Hello)
	children, err := newAgents(a.cfg, a.Guard, a.Hello, a.log)
	if err != nil {
		return err
	}
	a.setConfig = func(cfg *config.Config) {
		a.Hooks.SetConfig(cfg)
		a.tools.SetConfig(cfg)
		images.SetConfig(cfg)
		children.setConfig(cfg)
	}
	grants := a.Grants()
	bound, line := a.sessions()
	a.answers = line.Answers
	people := core.PeopleOptions{Record: recorder, HasPerson: line.Answers, Sessions: sessions{bound, line, a.log}, Unattended: os.Getenv(settings.OwnCodexEnv) == execCodex}
	if client != nil {
		people.Audience, people.Expire = client.Clients(), client.Expire
		a.addFeatures(client)
		a.Guard.SetOtherSubscribers(client.IsShared)
	}
	a.AskPeople(people)
	a.addFeatures(a.Guard.BridgeMethods(bound.ThreadOf), line, a.Hello, bound, images, children, grants, a.tools.ToolMethods())
	if client != nil {
		a.addFeatures(client.Requests())
	}
	a.addFeatures(a.Features()...)
	a.addFeatures(events.feature(), a.tools)
	if client != nil {
		a.addFeatures(client.Last())
	}

	a.Workers = append(a.Workers, core.Part{Grace: toolsGrace, Close: a.tools.Close}, core.Part{Grace: agentsGrace, Close: children.Close})
	a.State = append(a.State, func(ctx context.Context) {
		if err := bound.Close(ctx); err != nil {
			a.log.Error("the sessions of this process were not given back; they are free all the same, since it ends", "error", err)
		}
	})
	a.addRecorders(tracer, report, line)
	return nil
}

// setOptions sets the options of the proxy. shared means that Codex has other clients.
func (a *assembly) setOptions(shared bool, bytes *bridge.ByteCounts, report *telemetry.Telemetry) {
	a.options = a.ProxyOptions(a.cfg)
	if shared {
		a.options.AnswerAll = func() bool { return true }
	}
	a.options.Urgent = append(a.options.Urgent, "bridge/turn/interrupt")
	a.options.DeclineExcess = a.declineExcess
	if report != nil {
		a.options.ByteCounts = bytes
	}
}

// recorder returns the decision log, extended by the trace and the telemetry if these are on.
func (a *assembly) recorder(tracer *trace.Recorder, report *telemetry.Telemetry) guard.Recorder {
	recorder := guard.Recorder(a.shared.record)
	if tracer != nil {
		recorder = tracingRecorder{recorder, tracer}
	}
	if report != nil {
		recorder = exportingRecorder{recorder, report, a.shared.record.Redacted}
	}
	return recorder
}

// sessions returns the features for the threads of sessions and for their turns.
func (a *assembly) sessions() (*threads.Feature, *turns.Feature) {
	home := a.Guard.CodexHome()
	of := threads.Options{
		Store: a.shared.record.store, Thread: a.Hooks.Thread, Known: a.Hello.KnowsBridge, Offered: a.tools.OfferedTools, Now: time.Now, Log: a.log,
		Owners: &a.shared.owners,
		Size:   func(thread string) (int64, error) { return rollout.Size(home, thread) },
	}
	if host.Configured(a.cfg) {
		of.StaleTools, of.Warn = a.tools.StaleTools, a.tools.Warn
		of.Settings, of.Resumed = a.Guard.LastSettings, a.Guard.Resumed
		of.History = func(path string) ([]json.RawMessage, error) { return rollout.History(home, path) }
	}
	bound := threads.New(of)
	a.bound = bound
	a.Hello.AddMethods(threads.Methods...)
	line := turns.New(turns.Options{
		Threads: bound, Steering: a.Hooks.Steering, Known: a.Hello.KnowsBridge, Tell: a.Hello.Notify, Judge: a.Guard, Log: a.log,
	})
	a.Hello.AddMethods(turns.Methods...)
	a.Hello.AddStatus("turns", func() any { return line.State() })
	a.Hello.AddStatus("sessions", func() any { return bound.State().Sessions })
	a.Hello.AddStatus("threads", func() any {
		if a.Guard.Enforces() {
			return a.Guard.Threads()
		}
		return len(bound.All())
	})
	a.Workers = append(a.Workers, core.Part{Grace: turnsGrace, Close: func(context.Context) { line.Close() }})
	return bound, line
}

// addRecorders adds the features that record messages. They come after all other features.
func (a *assembly) addRecorders(tracer *trace.Recorder, report *telemetry.Telemetry, line *turns.Feature) {
	mirror := newTranscript(a.cfg, a.shared.record, a.log)
	if mirror != nil {
		a.addFeatures(mirror)
		a.State = append(a.State, mirror.Close)
	}
	if report != nil {
		a.addFeatures(report)
		a.Recorders = append(a.Recorders, core.Part{Grace: recordersGrace, Close: func(ctx context.Context) { closeTelemetry(ctx, report, a.log) }})
	}
	a.addFeatures(line.Last())
	if tracer != nil {
		a.options.Observer = tracer
		a.Recorders = append(a.Recorders, core.Part{Grace: recordersGrace, Close: func(context.Context) { tracer.Close() }})
	}
	showTrace(a.Hello, a.cfg, tracer)
	showTranscript(a.Hello, a.cfg, mirror)
	showFleet(a.Hello, a.cfg, a.shared.record)
}

func (a *assembly) addFeatures(features ...bridge.Feature) {
	a.options.Features = append(a.options.Features, features...)
}

// close closes the conversation, but not what it shares with others.
func (a *assembly) close() {
	a.CloseParts()
	a.CloseState()
}
