package server

import (
	"cmp"
	"log/slog"
	"os"
	"time"

	"codex-bridge/bridge/config"
)

// Options make a Server. Name and Config are needed.
type Options struct {
	Name   string
	Config config.ToolServer
	// Dir is the folder where a command runs; "" where the bridge does.
	Dir string
	// Env is the whole environment of a command, without the bridge's secrets.
	Env []string
	// Lookup finds the variable of a token (nil: os.LookupEnv).
	Lookup func(name string) (string, bool)
	// Version is the bridge's, which servers are told.
	Version string
	// Searchable offers the tools to the model's search rather than at once.
	Searchable bool
	Log        *slog.Logger
	// OnChange is told when Specs or Status may give something else than before, other
	// than that the server is being started again. It must not block, nor call Close.
	OnChange func()

	// Startup is how long Specs waits for a server that is being started (0: 5 s).
	Startup time.Duration
	// Handshake is how long a server may take until its tools are known (0: 60 s). A
	// package runner may have to fetch the server first.
	Handshake time.Duration
	// Grace is how long a child has to end after the end of its input, and again after
	// SIGTERM (0: 750 ms).
	Grace time.Duration
}

func (o Options) filled() Options {
	o.Startup = cmp.Or(o.Startup, 5*time.Second)
	o.Handshake = cmp.Or(o.Handshake, time.Minute)
	o.Grace = cmp.Or(o.Grace, 750*time.Millisecond)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = o.Log.With("tool_server", o.Name)
	if o.Lookup == nil {
		o.Lookup = os.LookupEnv
	}
	if o.OnChange == nil {
		o.OnChange = func() {}
	}
	return o
}
