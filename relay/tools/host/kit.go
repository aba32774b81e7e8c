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

	"codex-bridge/bridge/child"
	"codex-bridge/bridge/config"
	"codex-bridge/relay/tools"
	"codex-bridge/relay/tools/provider"
)

// KitOptions make a Kit.
type KitOptions struct {
	Version string // of the bridge, which servers are told
	Log     *slog.Logger
	// Patience is how long a server that is being started is waited for (0: 5 s).
	Patience time.Duration
	// OnChange is told when a server's tools may be others than before. It must not block.
	OnChange func()
}

// Kit is what a configuration has of tools: the commands, and the servers.
type Kit struct {
	commands *provider.Commands
	servers  []member // by name
}

type member struct {
	name   string
	config config.ToolServer
	*provider.Server
}

// NewKit makes the tools of a configuration, and starts nothing.
func NewKit(cfg *config.Config, o KitOptions) *Kit { return next(nil, cfg, o) }

// next is the kit of a changed configuration. Servers that stay as they are are taken
// over from the one before.
func next(before *Kit, cfg *config.Config, o KitOptions) *Kit {
	k := &Kit{commands: provider.NewCommands(provider.CommandOptions{Tools: cfg.Tools, Place: cfg.Place})}
	for _, name := range slices.Sorted(maps.Keys(cfg.ToolServers)) {
		one := member{name: name, config: cfg.ToolServers[name]}
		if one.Server = before.same(one); one.Server == nil {
			one.Server = provider.NewServer(provider.ServerOptions{
				Name: name, Config: one.config, Env: child.Environ(os.Environ()), Version: o.Version,
				Searchable: one.config.Loading == config.Searchable, Startup: o.Patience, Log: o.Log, OnChange: o.OnChange,
			})
		}
		k.servers = append(k.servers, one)
	}
	return k
}

func (k *Kit) same(one member) *provider.Server {
	if k != nil {
		for _, other := range k.servers {
			if other.name == one.name && reflect.DeepEqual(other.config, one.config) {
				return other.Server
			}
		}
	}
	return nil
}

// without are the servers of k that another kit has not.
func (k *Kit) without(other *Kit) *Kit {
	left := slices.DeleteFunc(slices.Clone(k.servers), func(one member) bool { return other.same(one) != nil })
	return &Kit{servers: left}
}

// Providers are the commands, and the servers by name.
func (k *Kit) Providers() []tools.Provider {
	list := []tools.Provider{k.commands}
	for _, one := range k.servers {
		list = append(list, one.Server)
	}
	return list
}

// Start starts the servers, and waits for none.
func (k *Kit) Start() {
	for _, one := range k.servers {
		one.Start()
	}
}

// Servers are the servers as they are now.
func (k *Kit) Servers() []provider.Status {
	list := make([]provider.Status, len(k.servers))
	for i, one := range k.servers {
		list[i] = one.Status()
	}
	return list
}

// Close ends the servers, and waits for that.
func (k *Kit) Close(ctx context.Context) {
	var ends sync.WaitGroup
	for _, one := range k.servers {
		ends.Go(func() { one.Close(ctx) })
	}
	ends.Wait()
}
