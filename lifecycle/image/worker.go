package image

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/lifecycle/turn"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/rpc"
)

const stderrTail = 1 << 10 // bytes of a failed server's stderr that errors show

// Worker runs jobs, each with its own app-server.
type Worker struct {
	Command []string  // the app-server
	Env     []string  // the whole environment
	Stderr  io.Writer // gets the app-server's stderr; nil means that errors show its end
	Version string    // of the bridge
	Policy  Policy
	// MakeFolder creates an empty folder for a job, and returns a function that removes it. Codex runs git there without
	// a sandbox, so sandboxed commands must not be able to write it.
	MakeFolder func() (folder string, remove func() error, err error)
}

// WithTimeout returns a context for a job, with the requested timeout between 100 ms and an hour. The
// time includes reading the images, the start of Codex and the description.
func WithTimeout(ctx context.Context, requested time.Duration) (context.Context, context.CancelFunc) {
	within := clampTimeout(requested)
	return context.WithTimeoutCause(ctx, within,
		rpc.Errorf(rpc.CodeDeadline, "no description after %s; set a longer image.timeout, or use another model", within))
}

// Describe runs a job. It calls step with texts about the progress.
func (w *Worker) Describe(ctx context.Context, job Job, step func(string)) (r Result, err error) {
	if err := job.Check(); err != nil {
		return Result{}, rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
	}
	cwd, remove, err := w.MakeFolder()
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	tail := &child.Tail{Max: stderrTail}
	stderr := w.Stderr
	if stderr == nil {
		stderr = tail
	}
	var c atomic.Pointer[turn.Collector]
	server, err := child.Connect(ctx, child.ClientOptions{
		Command: w.Command, Env: w.Env, Stderr: stderr,
		Handle: func(_ context.Context, m *child.Message) {
			if m.IsRequest() {
				decline(m)
			} else if e, ok := turn.ReadEvent(m.Method, m.Params); ok && c.Load() != nil {
				c.Load().Take(e)
			}
		},
	})
	if err != nil {
		return Result{}, rpc.Errorf(rpc.CodeUpstream, "%v", err)
	}
	defer func() {
		failed := server.Err() != nil
		err = errors.Join(err, server.Close(context.WithoutCancel(ctx)))
		if text := strings.TrimSpace(string(tail.Kept)); failed && err != nil && ctx.Err() == nil && text != "" {
			err = rpc.Errorf(rpc.CodeUpstream, "%v; its last words: %s", err, strings.ToValidUTF8(text, "\uFFFD"))
		}
	}()
	if _, err := server.Initialize(ctx, map[string]any{
		"clientInfo":   map[string]any{"name": "codex-bridge", "title": "codex-bridge", "version": w.Version},
		"capabilities": map[string]any{"experimentalApi": true},
	}); err != nil {
		return Result{}, clientError(ctx, err)
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
	r, err = w.describe(ended, server, &c, job, cwd, step)
	if err != nil {
		return Result{}, withReport(clientError(ctx, err), c.Load())
	}
	return r, nil
}

// withReport adds the last problem that Codex reported to the error of a job that took too long.
// c is nil before the job's turn.
func withReport(err error, c *turn.Collector) error {
	var late *rpc.Error
	if c == nil || !errors.As(err, &late) || late.Code != rpc.CodeDeadline {
		return err
	}
	return rpc.Errorf(late.Code, "%s%s", late.Message, turn.LastReport(c.Problem()))
}

// clientError returns the error for the client. The end of ctx is more useful than the request that
// was pending then.
func clientError(ctx context.Context, err error) error {
	var known *rpc.Error
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return cause
	case errors.As(err, &known):
		return err
	}
	return rpc.Errorf(rpc.CodeUpstream, "codex could not describe the images: %v", err)
}

// decline answers a request of Codex during a job. It ignores errors: Codex has ended then.
func decline(m *child.Message) {
	result, err := answer.Unattended(m.Method, m.Params)
	if err != nil {
		_ = m.Refuse(err)
		return
	}
	_ = m.Reply(result)
}
