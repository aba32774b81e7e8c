package host

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/provider"
)

// ToolSetOptions configure a ToolSet.
type ToolSetOptions struct {
	Version string // of the bridge, for servers
	Log     *slog.Logger
	// Startup is how long to wait for a starting server; 0: 5 s.
	Startup time.Duration
	// OnChange is called when a server's tools may have changed. It must not block.
	OnChange func()
}

// ToolSet holds a configuration's commands and servers.
type ToolSet struct {
	commands *provider.Commands
	servers  []member // sorted by name
}

type member struct {
	name   string
	config config.ToolServer
	*provider.Server
}

// NewToolSet returns the tools of a configuration. It starts nothing.
func NewToolSet(cfg *config.Config, o ToolSetOptions) *ToolSet { return newToolSet(nil, cfg, o) }

// newToolSet returns the tools of a changed configuration. It reuses unchanged servers.
func newToolSet(before *ToolSet, cfg *config.Config, o ToolSetOptions) *ToolSet {
	k := &ToolSet{commands: provider.NewCommands(provider.CommandOptions{Tools: cfg.Tools, Place: cfg.Place})}
	for _, name := range slices.Sorted(maps.Keys(cfg.ToolServers)) {
		one := member{name: name, config: cfg.ToolServers[name]}
		if one.Server = before.findServer(one); one.Server == nil {
			one.Server = provider.NewServer(provider.ServerOptions{
				Name: name, Config: one.config, Env: child.Environ(os.Environ()), Version: o.Version,
				Searchable: one.config.Loading == config.Searchable, Startup: o.Startup, Log: o.Log, OnChange: o.OnChange,
			})
		}
		k.servers = append(k.servers, one)
	}
	return k
}

func (k *ToolSet) findServer(one member) *provider.Server {
	if k != nil {
		for _, other := range k.servers {
			if other.name == one.name && reflect.DeepEqual(other.config, one.config) {
				return other.Server
			}
		}
	}
	return nil
}

// minus returns the servers of k that other does not have.
func (k *ToolSet) minus(other *ToolSet) *ToolSet {
	left := slices.DeleteFunc(slices.Clone(k.servers), func(one member) bool { return other.findServer(one) != nil })
	return &ToolSet{servers: left}
}

// Providers returns the commands, then the servers by name.
func (k *ToolSet) Providers() []tools.Provider {
	list := []tools.Provider{k.commands}
	for _, one := range k.servers {
		list = append(list, one.Server)
	}
	return list
}

// Start starts the servers without waiting for them.
func (k *ToolSet) Start() {
	for _, one := range k.servers {
		one.Start()
	}
}

// Servers returns the status of each server.
func (k *ToolSet) Servers() []provider.Status {
	list := make([]provider.Status, len(k.servers))
	for i, one := range k.servers {
		list[i] = one.Status()
	}
	return list
}

// Close closes the servers and waits.
func (k *ToolSet) Close(ctx context.Context) {
	var ends sync.WaitGroup
	for _, one := range k.servers {
		ends.Go(func() { one.Close(ctx) })
	}
	ends.Wait()
}
