package servers

// server is a server as Codex's configuration has it.
type server struct {
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
