package params

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/rpc"
)

// mcpServer is an MCP server in Codex's configuration.
type mcpServer struct {
	Command      string            `json:"command,omitempty"`
	Args         []string          `json:"args,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	Cwd          string            `json:"cwd,omitempty"`
	URL          string            `json:"url,omitempty"`
	Bearer       string            `json:"bearer_token_env_var,omitempty"`
	Headers      map[string]string `json:"http_headers,omitempty"`
	EnvHeaders   map[string]string `json:"env_http_headers,omitempty"`
	ApprovalMode string            `json:"default_tools_approval_mode,omitempty"`
}

// MCPServersConfig returns the configuration {"mcp_servers": {…}} for defs, an object of server
// definitions by name. It returns nil if no server is left.
func MCPServersConfig(defs rpc.Value) (json.RawMessage, error) {
	switch defs.Kind() {
	case rpc.Absent, rpc.Null:
		return nil, nil
	case rpc.Object:
	default:
		return nil, fmt.Errorf("the MCP servers are %s; write an object of servers by name", defs.Kind())
	}
	all := make(map[string]mcpServer)
	for name, def := range defs.Members() {
		s, on, err := readServer(def)
		if err != nil {
			return nil, fmt.Errorf("the MCP server %q: %w", name, err)
		}
		if on {
			all[name] = s
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return Encode(map[string]any{"mcp_servers": all})
}

// readServer reads one definition. on is false for a server that is disabled or for agents only.
func readServer(def rpc.Value) (s mcpServer, on bool, err error) {
	enabled, forCodex := true, true
	ignore := func(rpc.Value) error { return nil } // Codex derives it from command and url
	if err := (Members{
		"command": Into(&s.Command, Text), "args": Into(&s.Args, List(Text)), "env": Into(&s.Env, readTable), "cwd": Into(&s.Cwd, Text),
		"url": Into(&s.URL, Text), "headers": s.headers, "enabled": Into(&enabled, Bool), "codex": Into(&forCodex, s.codex),
		"type": ignore, "transport": ignore,
	}).Read(def); err != nil {
		return s, false, err
	}
	if on = enabled && forCodex; on && (s.Command == "") == (s.URL == "") {
		return s, false, fmt.Errorf("it needs a command or a url, and not both")
	}
	return s, on, nil
}

var approvalModes = []string{"auto", "prompt", "approve"}

// codex reads the member codex. forCodex is false if it has a member agents: the server is then for
// the listed agents only, and the bridge has none.
func (s *mcpServer) codex(v rpc.Value) (forCodex bool, err error) {
	if v.Kind() != rpc.Object {
		return false, fmt.Errorf("it is %s, not an object", v.Kind())
	}
	if mode, ok := v.Get("defaultToolsApprovalMode").Text(); ok && slices.Contains(approvalModes, mode) {
		s.ApprovalMode = mode
	}
	return !v.Get("agents").Exists(), nil
}

// These match a header value that is one environment variable.
var (
	envVariable    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`) })
	bearerVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:bearer) +\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`) })
)

// headers reads the headers: with a value, with an environment variable, and with a bearer token.
func (s *mcpServer) headers(v rpc.Value) error {
	all, err := readTable(v)
	if err != nil {
		return err
	}
	s.Headers, s.EnvHeaders = make(map[string]string), make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(all)) { // in a fixed order: HTTP treats names that differ in case as equal
		value := all[name]
		if m := bearerVariable().FindStringSubmatch(value); m != nil && strings.EqualFold(name, "authorization") {
			s.Bearer = m[1]
			continue
		}
		if m := envVariable().FindStringSubmatch(value); m != nil {
			s.EnvHeaders[name] = m[1]
			continue
		}
		s.Headers[name] = value
	}
	return nil
}

func readTable(v rpc.Value) (map[string]string, error) {
	if v.Kind() != rpc.Object {
		return nil, fmt.Errorf("it is %s, not an object of strings", v.Kind())
	}
	m := make(map[string]string)
	for name, value := range v.Members() {
		one, err := Text(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		m[name] = one
	}
	return m, nil
}
