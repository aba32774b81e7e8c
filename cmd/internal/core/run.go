package core

import (
	"context"
	"errors"
	"os"
	"runtime"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/supervise"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/hook"
)

// RunOptions configure Run.
type RunOptions struct {
	Setup   settings.Setup
	Proxy   bridge.Options // with the features, without streams and Codex
	Notices []string       // that the user reads after the first thread has opened
	// SetConfig applies a changed configuration.
	SetConfig []func(*config.Config)
	Started   func() // called when Codex has started; may be nil
	Close     func() // closes what the conversation has opened
}

// Run runs Codex behind the proxy, with standard input and output as its client. On success it ends this process
// with the exit status of Codex.
func (c *Conversation) Run(o RunOptions) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.Socket.Decide = func(ctx context.Context, call *hook.Call) hook.Answer { return c.Hooks.Decide(ctx, call, true) }
	cfg := c.Config.Load()
	stop := codex.Signals()
	// Linux sends the parent-death signal when the thread that started Codex ends. Start it
	// from the main thread, which ends with the process.
	runtime.LockOSThread()
	started, err := codex.Start(c.Command)
	if err != nil {
		o.Close()
		return c.Starts.StartError(err, cfg)
	}
	// The rest of the set-up runs while Codex starts.
	o.Proxy.In, o.Proxy.Out, o.Proxy.Upstream = os.Stdin, os.Stdout, started
	keepProcessorFree()
	go c.WarnOutOfRange(ctx) // ends with ctx
	setPolicy := func(p *policy.Policy) { c.SetPolicy(ctx, c.Guard, p) }
	set := append([]func(*config.Config){c.Shared.SetConfig}, o.SetConfig...)
	go o.Setup.Watch(ctx, o.Setup.Files(settings.Workspace()), cfg, c.log, c.Hello.NotifyReloaded, setPolicy, set...) // ends with ctx
	c.Guard.SetStartNotices(o.Notices)
	c.Guard.SetUserAgentReader(c.Program.ReadUserAgent) // this Codex has no other client
	p, err := bridge.NewProxy(o.Proxy)
	if err != nil {
		started.Kill()
		o.Close()
		return err
	}
	if o.Started != nil {
		o.Started()
	}
	state := p.Run(ctx, stop)
	o.Close()
	codex.ExitLike(state) // ends the process
	return nil
}

// keepProcessorFree lets goroutines run while two of them wait in system calls: one for the client's next
// message, one for the end of Codex. With two of Go's processors, the default on two cores, Codex's first
// line waited for up to 10 ms.
func keepProcessorFree() {
	const enough = 4
	if runtime.GOMAXPROCS(0) < enough {
		runtime.GOMAXPROCS(enough)
	}
}

// Exit statuses.
const (
	ExitFailed   = 1
	ExitConfig   = 2   // the configuration does not load, or the command line is wrong
	ExitNotFound = 127 // codex is not installed
)

// ExitStatus returns the exit status for an error.
func ExitStatus(err error) int {
	var find *codex.FindError
	var conf *config.Error
	var refused *settings.RefusedArgs
	var open *policy.SensitivePathError
	var variable *guard.EnvFileError
	var file *guard.ConfigFileError
	var server *guard.ExecServerError
	var state *statefolder.Error
	var unsupervised *supervise.UnsupportedError
	switch {
	case errors.As(err, &find):
		return ExitNotFound
	case errors.As(err, &conf), errors.As(err, &refused), errors.As(err, &open), errors.As(err, &variable), errors.As(err, &file), errors.As(err, &server), errors.As(err, &state), errors.As(err, &unsupervised):
		return ExitConfig
	}
	return ExitFailed
}
