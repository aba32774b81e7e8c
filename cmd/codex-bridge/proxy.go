package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"runtime"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/codex"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/guard"
	"codex-bridge/bridge/hello"
	"codex-bridge/bridge/rollout"
	"codex-bridge/lifecycle/threads"
	"codex-bridge/lifecycle/turns"
	"codex-bridge/relay/approvals"
	"codex-bridge/relay/gate"
	"codex-bridge/relay/grants"
	"codex-bridge/relay/redact"
	"codex-bridge/relay/tools/host"
	"codex-bridge/relay/trace"
)

// proxy runs the real app-server behind us and ends as it ends.
func proxy(cfg *config.Config, command codex.Command, record *ledger) error {
	log := logger(cfg)
	tracer, err := newTrace(cfg, log)
	if err != nil {
		return err
	}
	recorder := guard.Recorder(record)
	if tracer != nil {
		defer tracer.Close()
		recorder = traced{record, tracer}
	}
	report := newTelemetry(cfg, log)
	if report != nil {
		recorder = measured{recorder, report}
	}
	hold, err := newGuard(cfg, recorder, log)
	if err != nil {
		return err
	}
	hi := hello.New(Version, cfg.Codex.MinVersion, hold, log)
	relay, injects := newHooks(cfg, hold, hi, log)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	own := newTools(cfg, hold, hi, relay, log)
	images := newImages(cfg, command, hold, hi)
	children, err := newAgents(cfg, hold, hi, log)
	if err != nil {
		return err
	}
	go watch(ctx, cfg, log, hold.SetPolicy, relay.setConfig, own.SetConfig, images.SetConfig, children.setConfig) // ends with ctx
	memory := grants.NewMemory(grants.Options{Approvals: relay.approvals, Store: record.store})
	hi.Offer(grants.Methods...)
	home := hold.CodexHome()
	of := threads.Options{Store: record.store, Thread: relay.thread, Known: hi.Known, Offered: own.Offered, Now: time.Now, Log: log,
		Size: func(thread string) (int64, error) { return rollout.Size(home, thread) },
	}
	if host.Configured(cfg) {
		of.Kept, of.Warn = own.Kept, own.Warn
		of.History = func(path string) ([]json.RawMessage, error) { return rollout.History(home, path) }
	}
	bound := threads.New(of)
	hi.Offer(threads.Methods...)
	line := turns.New(turns.Options{
		Threads: bound, Steering: relay.steering, Known: hi.Known, Tell: hi.Tell, OptedOut: hold.OptedOut, Judge: hold, Log: log,
	})
	relay.gate = gate.New(gate.Options{
		Approvals: relay.approvals, Judge: hold, Memory: memory, Limiter: relay.limiter, Answers: line.Answers, Log: log,
	})
	hi.Offer(turns.Methods...)
	hi.Show("turns", func() any { return line.State() })
	hi.Show("sessions", func() any { return bound.State().Sessions })
	features := []bridge.Feature{
		line, hi, bound, images, children, grants.NewFeature(memory, hi.Known), own.Own(), hold, relay.gate,
		approvals.New(approvals.Options{Approvals: relay.approvals, Judge: hold, Memory: memory, Gate: relay.gate, Limiter: relay.limiter, Log: log}),
	}
	features = append(append(features, injects...), own)
	mirror := newTranscript(cfg, record, log)
	if mirror != nil {
		defer mirror.Close()
		features = append(features, mirror)
	}
	if report != nil {
		features = append(features, report)
	}
	features = append(features, line.Last())
	showTrace(hi, cfg, tracer)
	showTranscript(hi, cfg, mirror)
	options := bridge.Options{
		In: os.Stdin, Out: os.Stdout,
		Command:    command,
		Features:   features,
		AnswerAll:  cfg.Policy.Mode != config.Off,
		MaxMessage: int(cfg.Codex.MaxMessage),
		Grace:      time.Duration(cfg.Codex.ShutdownGrace),
		Log:        log,
	}
	if tracer != nil {
		options.Tap, options.Features = tracer, append(features, trace.Everything{})
	}
	p, err := bridge.NewProxy(options)
	if err != nil {
		return err
	}
	stop := codex.Signals()
	own.Start()
	// The death signal comes when the thread that started codex ends: the main
	// thread, which ends with the process.
	runtime.LockOSThread()
	state, err := p.Run(ctx, stop)
	line.Close()
	closeTools(own)
	closeAgents(children)
	if err := relay.Close(); err != nil {
		log.Error("the hooks' socket was not closed in good order", "error", err)
	}
	if err := bound.Close(ctx); err != nil {
		log.Error("the sessions of this process were not given back; they are free all the same, since it ends", "error", err)
	}
	if err != nil {
		return err
	}
	if mirror != nil {
		mirror.Close() // codex.Mirror ends the process
	}
	closeTelemetry(report, log)
	if tracer != nil {
		tracer.Close()
	}
	if err := record.Close(); err != nil {
		log.Error("the decision log was not closed in good order", "error", err)
	}
	codex.Mirror(state)
	return nil
}

// logger writes to stderr: stdout is the protocol's. Warnings and worse, unless
// CODEX_BRIDGE_LOG says otherwise. Secrets are taken out.
func logger(cfg *config.Config) *slog.Logger {
	level := slog.LevelWarn
	if text := os.Getenv("CODEX_BRIDGE_LOG"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			level = slog.LevelWarn
		}
	}
	opts := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(os.Stderr, opts)
	if os.Getenv("CODEX_BRIDGE_LOG_FORMAT") == "json" {
		h = slog.NewJSONHandler(os.Stderr, opts)
	}
	return slog.New(redact.New(redact.Limits{}, secrets(cfg)...).Handler(h))
}
