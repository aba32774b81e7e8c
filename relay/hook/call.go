package hook

import "encoding/json"

// Call is one run of a hook, as Codex describes it to the process on stdin.
type Call struct {
	Event   Event           `json:"-"`
	Payload json.RawMessage `json:"-"` // the whole object

	SessionID      string          `json:"session_id"` // the thread; of a subagent that of the first parent
	AgentID        string          `json:"agent_id"`   // a subagent's own thread; else empty
	TurnID         string          `json:"turn_id"`
	Cwd            string          `json:"cwd"`
	Model          string          `json:"model"`
	PermissionMode string          `json:"permission_mode"`
	TranscriptPath string          `json:"transcript_path"`
	ToolName       string          `json:"tool_name"` // Bash, apply_patch, mcp__SERVER__TOOL, a dynamic tool's own
	ToolUseID      string          `json:"tool_use_id"`
	ToolInput      json.RawMessage `json:"tool_input"`
	ToolResponse   json.RawMessage `json:"tool_response"`
	StopHookActive bool            `json:"stop_hook_active"`
	LastMessage    string          `json:"last_assistant_message"`
}

// Thread is the thread whose call it is.
func (c *Call) Thread() string {
	if c.AgentID != "" {
		return c.AgentID
	}
	return c.SessionID
}
