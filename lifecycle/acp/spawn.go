package acp

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// short is how long each step may take that starts no program.
const short = 10 * time.Second

// Steps are what a spawn is made of.
type Steps interface {
	// Create notes the child.
	Create(ctx context.Context, c Child) error
	// Initialize starts the agent, and opens its session.
	Initialize(ctx context.Context, c Child) error
	// Bind gives the session its place with the host.
	Bind(ctx context.Context, c Child) error
	// Relay tells the run's work to who asked, from now on; path is where it is kept.
	Relay(c Child, run string) (r Relay, path string)
	// Dispatch hands the task over. key makes it once, however often it is sent; run is
	// what the run is called if not so.
	Dispatch(ctx context.Context, c Child, key string) (run string, err error)
	// Clean takes back all of it, as far as it went, the child's note too if noted.
	Clean(c Child, noted bool)
}

// Relay tells of a run.
type Relay interface {
	Started() // says so
	Dispose() // says nothing more
}

// Spawn has a child that was checked done its task. Of one that fails nothing is left.
func Spawn(ctx context.Context, steps Steps, c Child, bound bool) Result {
	c.Key = "agent:" + c.Agent + ":acp:" + uuid.NewString()
	noted, err := prepare(ctx, steps, c, bound)
	if err != nil {
		steps.Clean(c, noted)
		return Result{Status: Failed, Error: err.Error()}
	}
	run, log := uuid.NewString(), ""
	var relay Relay
	if c.Stream { // before the task, whose end may come at once
		relay, log = steps.Relay(c, run)
	}
	soon, cancel := context.WithTimeout(ctx, short)
	defer cancel()
	called, err := steps.Dispatch(soon, c, run)
	if err != nil {
		if relay != nil {
			relay.Dispose()
		}
		steps.Clean(c, true)
		return Result{Status: Failed, Error: err.Error(), Child: c.Key}
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

func prepare(ctx context.Context, steps Steps, c Child, bound bool) (noted bool, err error) {
	soon, cancel := context.WithTimeout(ctx, short)
	defer cancel()
	if err := steps.Create(soon, c); err != nil {
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
