// Package assembly joins the features of the bridge to conversations: the parts that all clients of one Codex share, and those
// of each client.
package assembly

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
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/compat"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
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

// Shared are what the conversations of all clients of one Codex share.
type Shared struct {
	*core.Shared
	record *decisionlog.Log
	owners threads.Owners // of sessions
}

// NewShared creates the shared parts of one Codex under the configuration of a workspace; "" means none. The
// caller closes them.
func NewShared(cfg *config.Config, workspace string, command codex.Command, record *decisionlog.Log, log *slog.Logger) (*Shared, error) {
	shared, err := core.NewShared(core.SharedOptions{
		Config: cfg, Setup: configured.Setup, Workspace: workspace, Command: command, State: record, Log: log,
		Untested: func(program *codex.Program) string { return compat.UntestedCodex(context.Background(), program, log) },
	})
	if err != nil {
		return nil, err
	}
	return &Shared{Shared: shared, record: record}, nil
}

// Conversation has the parts of one conversation.
type Conversation struct {
	*core.Conversation
	shared *Shared
	Cfg    *config.Config
	log    *slog.Logger

	Tools     *host.Feature
	bound     *threads.Feature
	Answers   func() (ok bool, why string) // whether the client answers questions for a person
	Options   bridge.Options
	SetConfig func(*config.Config) // applies a changed configuration
	core.Ending
}

// New creates the parts of a conversation. client is nil if Codex has no other client. The caller
// sets In and Out of the options, and closes the assembly.
func New(shared *Shared, log *slog.Logger, client *serve.Client) (*Conversation, error) {
	a := &Conversation{shared: shared, Cfg: shared.Config.Load(), log: log}
	if err := a.build(client); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

func (a *Conversation) build(client *serve.Client) (err error) {
	tracer, err := newTrace(a.Cfg, func(thread string) string { return a.bound.OpenSession(thread) }, a.log)
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
	o := core.ConversationOptions{Version: buildinfo.Version, Recorder: recorder, IsAgent: NestingDepth() > 0, HooksChanged: events.notify, AskDesk: d.ask, Log: a.log}
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
	a.Tools = newTools(a.Cfg, client != nil, a.Guard, a.Hello, a.Hooks, a.log, after...)
	images := newImages(a.Cfg, a.Command, a.Guard, a.Hello)
	children, err := newAgents(a.Cfg, a.Guard, a.Hello, a.log)
	if err != nil {
		return err
	}
	a.SetConfig = func(cfg *config.Config) {
		a.Hooks.SetConfig(cfg)
		a.Tools.SetConfig(cfg)
		images.SetConfig(cfg)
		children.setConfig(cfg)
	}
	grants := a.Grants()
	bound, line := a.sessions()
	a.Answers = line.Answers
	people := core.PeopleOptions{Record: recorder, HasPerson: line.Answers, Sessions: sessions{bound, line, a.log}, Unattended: os.Getenv(settings.OwnCodexEnv) == configured.ExecCodex}
	if client != nil {
		people.Audience, people.Expire = client.Clients(), client.Expire
		a.addFeatures(client)
		a.Guard.SetOtherSubscribers(client.IsShared)
	}
	a.AskPeople(people)
	a.addFeatures(a.Guard.BridgeMethods(bound.ThreadOf), line, a.Hello, bound, images, children, grants, a.Tools.ToolMethods())
	if client != nil {
		a.addFeatures(client.Requests())
	}
	a.addFeatures(a.Features()...)
	a.addFeatures(events.feature(), a.Tools)
	if client != nil {
		a.addFeatures(client.Last())
	}

	a.Workers = append(a.Workers, core.Part{Grace: toolsGrace, Close: a.Tools.Close}, core.Part{Grace: AgentsGrace, Close: children.Close})
	a.State = append(a.State, func(ctx context.Context) {
		if err := bound.Close(ctx); err != nil {
			a.log.Error("the sessions of this process were not given back; they are free all the same, since it ends", "error", err)
		}
	})
	a.addRecorders(tracer, report, line)
	return nil
}

// setOptions sets the options of the proxy. shared means that Codex has other clients.
func (a *Conversation) setOptions(shared bool, bytes *bridge.ByteCounts, report *telemetry.Telemetry) {
	a.Options = a.ProxyOptions(a.Cfg)
	if shared {
		a.Options.AnswerAll = func() bool { return true }
	}
	a.Options.Urgent = append(a.Options.Urgent, "bridge/turn/interrupt")
	a.Options.DeclineExcess = a.declineExcess
	if report != nil {
		a.Options.ByteCounts = bytes
	}
}

// recorder returns the decision log, extended by the trace and the telemetry if these are on.
func (a *Conversation) recorder(tracer *trace.Recorder, report *telemetry.Telemetry) guard.Recorder {
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
func (a *Conversation) sessions() (*threads.Feature, *turns.Feature) {
	home := a.Guard.CodexHome()
	of := threads.Options{
		Store: a.shared.record.Store, Thread: a.Hooks.Thread, Known: a.Hello.KnowsBridge, Offered: a.Tools.OfferedTools, Now: time.Now, Log: a.log,
		Owners: &a.shared.owners,
		Size:   func(thread string) (int64, error) { return rollout.Size(home, thread) },
	}
	if host.Configured(a.Cfg) {
		of.StaleTools, of.Warn = a.Tools.StaleTools, a.Tools.Warn
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
func (a *Conversation) addRecorders(tracer *trace.Recorder, report *telemetry.Telemetry, line *turns.Feature) {
	mirror := newTranscript(a.Cfg, a.shared.record, a.log)
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
		a.Options.Observer = tracer
		a.Recorders = append(a.Recorders, core.Part{Grace: recordersGrace, Close: func(context.Context) { tracer.Close() }})
	}
	showTrace(a.Hello, a.Cfg, tracer)
	showTranscript(a.Hello, a.Cfg, mirror)
	showFleet(a.Hello, a.Cfg, a.shared.record)
}

func (a *Conversation) addFeatures(features ...bridge.Feature) {
	a.Options.Features = append(a.Options.Features, features...)
}

// Close closes the conversation, but not what it shares with others.
func (a *Conversation) Close() {
	a.CloseParts()
	a.CloseState()
}
