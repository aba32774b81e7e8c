package threads

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/rpc"
)

// inputs returns the inputs of a session's thread: start has the parameters of thread/start, dynamicTools is the
// fingerprint of the dynamic tools. It does not look up the apps of plugins.
func (a *sessionRequest) inputs(start rpc.Value, dynamicTools string) (binding.ThreadInputs, error) {
	in := binding.ThreadInputs{DynamicTools: dynamicTools, Evaluated: true}
	var err error
	if in.ContextEngine, err = a.Engine.Binding(); err != nil {
		return binding.ThreadInputs{}, err
	}
	if a.Servers != nil {
		if in.UserMCPServers, err = binding.HashFingerprint(a.Servers); err != nil {
			return binding.ThreadInputs{}, fmt.Errorf("bridge.mcpServers: %w", err)
		}
	}
	if in.MCPServers, err = configuredServers(start.Get("config")); err != nil {
		return binding.ThreadInputs{}, fmt.Errorf("config.mcp_servers: %w", err)
	}
	if v := start.Get("environments"); v.Exists() && v.Kind() != rpc.Null {
		if in.Environments, err = binding.TextFingerprint(v.Raw()); err != nil {
			return binding.ThreadInputs{}, fmt.Errorf("environments: %w", err)
		}
	}
	in.Plugins.Enabled = a.Plugins.Enabled
	if a.Plugins.Enabled {
		in.Plugins.EnabledKeys = a.Plugins.EnabledKeys()
		if in.Plugins.Input, err = a.Plugins.Input(); err != nil {
			return binding.ThreadInputs{}, fmt.Errorf("bridge.plugins: %w", err)
		}
	}
	return in, nil
}

// configuredServers returns the fingerprint of the MCP servers in a configuration, also under
// dotted keys; "" if there are none.
func configuredServers(config rpc.Value) (string, error) {
	found := make(map[string]json.RawMessage)
	for name, v := range config.Members() {
		if first, _, _ := strings.Cut(name, "."); strings.TrimSpace(first) == "mcp_servers" {
			found[name] = v.Raw()
		}
	}
	if len(found) == 0 || len(found) == 1 && config.Get("mcp_servers").Len() == 0 && config.Get("mcp_servers").Exists() {
		return "", nil
	}
	var text strings.Builder
	text.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(found)) {
		if i > 0 {
			text.WriteByte(',')
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s:%s", quoted, found[name])
	}
	text.WriteByte('}')
	return binding.HashFingerprint([]byte(text.String()))
}
