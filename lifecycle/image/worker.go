package image

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"codex-bridge/bridge/appserver"
	"codex-bridge/bridge/child"
	"codex-bridge/relay/answer"
	"codex-bridge/rpc"
)

const lastWords = 1 << 10 // of a server that fails, bytes

// Options configure a Worker.
type Options struct {
	Command []string  // the app-server
	Env     []string  // the whole environment
	Stderr  io.Writer // what the app-server writes there; nil: its last words are told when it fails
	Version string    // of the bridge
	Hold    Policy    // the policy; nil: none
}

// Worker does jobs, each with its own app-server.
type Worker struct{ o Options }

// NewWorker returns a Worker.
func NewWorker(o Options) *Worker { return &Worker{o} }

// WithTimeout returns ctx for a job that may take that long from now. The time includes
// reading the images, the start of Codex and the description.
func WithTimeout(ctx context.Context, asked time.Duration) (context.Context, context.CancelFunc) {
	within := clampTimeout(asked)
	return context.WithTimeoutCause(ctx, within,
		rpc.Errorf(rpc.CodeDeadline, "there is no description after %s; give it more time with image.timeout, or another model", within))
}

// Describe does a job.
func (w *Worker) Describe(ctx context.Context, job Job, step func(string)) (r Result, err error) {
	if err := job.Check(); err != nil {
		return Result{}, rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
	}
	cwd, err := os.MkdirTemp("", "codex-bridge-image-")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(cwd)) }()
	words := &child.Tail{Max: lastWords}
	stderr := w.o.Stderr
	if stderr == nil {
		stderr = words
	}
	heard := &collector{}
	server, err := appserver.Start(ctx, appserver.Options{
		Command: w.o.Command, Env: w.o.Env, Stderr: stderr,
		Handle: func(_ context.Context, m *appserver.Message) {
			if m.IsRequest() {
				decline(m)
			} else {
				heard.Heard(m.Method, m.Params)
			}
		},
	})
	if err != nil {
		return Result{}, rpc.Errorf(rpc.CodeUpstream, "%v", err)
	}
	defer func() {
		failed := server.Err() != nil
		err = errors.Join(err, server.Close(context.WithoutCancel(ctx)))
		if said := strings.TrimSpace(string(words.Kept)); failed && err != nil && ctx.Err() == nil && said != "" {
			err = rpc.Errorf(rpc.CodeUpstream, "%v; its last words: %s", err, strings.ToValidUTF8(said, "\uFFFD"))
		}
	}()
	if _, err := server.Initialize(ctx, map[string]any{
		"clientInfo":   map[string]any{"name": "codex-bridge", "title": "codex-bridge", "version": w.o.Version},
		"capabilities": map[string]any{"experimentalApi": true},
	}); err != nil {
		return Result{}, told(ctx, err)
	}
	ended, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // ends with the job
		select {
		case <-server.Done():
			stop(server.Err())
		case <-ended.Done():
		}
	}()
	r, err = describe(ended, server, heard, task{Job: job, Cwd: cwd, Hold: w.o.Hold, Step: step})
	if err != nil {
		return Result{}, told(ctx, err)
	}
	return r, nil
}

// told is an error as the client is told it: that the time is up is more than which
// request had no answer then.
func told(ctx context.Context, err error) error {
	var known *rpc.Error
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return cause
	case errors.As(err, &known):
		return err
	}
	return rpc.Errorf(rpc.CodeUpstream, "codex has not described the images: %v", err)
}

// decline answers what Codex asks in the course of a job. One that hears no answer has
// ended.
func decline(m *appserver.Message) {
	result, err := answer.Unattended(m.Method, m.Params)
	if err != nil {
		_ = m.Refuse(err)
		return
	}
	_ = m.Reply(result)
}
