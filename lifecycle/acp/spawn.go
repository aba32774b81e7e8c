package acp

import (
	"context"
	"time"

	"github.com/google/uuid"

	"codex-bridge.example/bridge/problem"
)

// stepTimeout is the timeout of a step that starts no program.
const stepTimeout = 10 * time.Second

// Steps are the steps of a spawn.
type Steps interface {
	// Create records the child.
	Create(ctx context.Context, c Child) error
	// Initialize starts the agent and opens its session.
	Initialize(ctx context.Context, c Child) error
	// Bind gives the session its place in the host.
	Bind(ctx context.Context, c Child) error
	// Relay starts sending notices of the run to the requester. path is the log's file, or "".
	Relay(c Child, run string) (r Relay, path string)
	// Dispatch hands the task over. key makes a repeated dispatch have no effect. run is the run's id
	// if it differs from key.
	Dispatch(ctx context.Context, c Child, key string) (run string, err error)
	// Clean undoes the steps so far. created reports whether Create succeeded.
	Clean(c Child, created bool)
}

// Relay sends notices of a run to the requester.
type Relay interface {
	Started() // sends the first notice
	Dispose() // ends the notices
}

// Spawn starts a checked child with its task. On an error it undoes all steps.
func Spawn(ctx context.Context, steps Steps, c Child, bound bool) Result {
	c.Key = "agent:" + c.Agent + ":acp:" + uuid.NewString()
	created, err := prepare(ctx, steps, c, bound)
	if err != nil {
		steps.Clean(c, created)
		return Result{Status: Failed, Error: problem.Text(err)}
	}
	run, log := uuid.NewString(), ""
	var relay Relay
	if c.Stream { // before the task, which may end at once
		relay, log = steps.Relay(c, run)
	}
	stepCtx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	called, err := steps.Dispatch(stepCtx, c, run)
	if err != nil {
		if relay != nil {
			relay.Dispose()
		}
		steps.Clean(c, true)
		return Result{Status: Failed, Error: problem.Text(err), Child: c.Key}
	}
	if called != "" && called != run {
		run = called
		if relay != nil {
			relay.Dispose()
			relay, log = steps.Relay(c, run)
		}
	}
	if relay != nil {
		relay.Started()
	}
	return Result{Status: Accepted, Child: c.Key, Run: run, Mode: c.Mode, Log: log, Note: c.Mode.note()}
}

func prepare(ctx context.Context, steps Steps, c Child, bound bool) (created bool, err error) {
	stepCtx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := steps.Create(stepCtx, c); err != nil {
		return false, err
	}
	if err := steps.Initialize(ctx, c); err != nil {
		return true, err
	}
	if bound {
		return true, steps.Bind(ctx, c)
	}
	return true, nil
}
