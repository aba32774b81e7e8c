package config

import (
	"slices"
	"time"
)

// harmlessCommands is the default of policy.commands: the commands of Codex that run nothing, open nothing and
// write no configuration. A test compares it with the table of commands.
var harmlessCommands = []string{"login", "logout", "doctor", "features list", "mcp list", "mcp get", "plugin list", "plugin marketplace list"}

// Default returns the configuration without files: no policy, no hooks, no remembered answers.
func Default() *Config {
	return &Config{
		Codex: Codex{
			Command:       "codex",
			MinVersion:    "0.166.0",
			ShutdownGrace: Duration(2 * time.Second),
			MaxMessage:    64 * MiB,
		},
		Policy: Policy{
			Mode:           Off,
			Approval:       []string{"untrusted", "on-request"},
			Sandbox:        "workspace-write",
			WritableRoots:  []string{workspaceVar},
			Reviewers:      []string{"user"},
			ConfigKeys:     []string{"model", "model_reasoning_*", "features.code_mode*"},
			Commands:       slices.Clone(harmlessCommands),
			UnknownMethods: "deny",
			Gate:           true,
			Escalation:     "deny",
			ExecRules:      "auto",
			ProtectedPaths: []string{".git", ".codex", ".agents"},
			ProjectTrust:   "user",
		},
		Approvals: Approvals{
			Remember: "off",
			TTL:      Duration(30 * time.Minute),
			Max:      512,
			Timeout:  Duration(120 * time.Second),
			Desk:     Desk{Timeout: Duration(15 * time.Minute)},
		},
		Hooks: Hooks{
			Events:       []string{"pre_tool_use", "post_tool_use", "stop"},
			Timeout:      Duration(10 * time.Second),
			OnFailure:    "deny",
			MaxRevisions: 3,
		},
		ToolLimits: ToolLimits{
			Timeout:    Duration(90 * time.Second),
			MaxTimeout: Duration(600 * time.Second),
			MaxText:    16000,
		},
		Thread:   Thread{ServiceName: "codex-bridge", OnStaleTools: Warn},
		Steering: Steering{Mode: "steer", Quiet: Duration(500 * time.Millisecond)},
		Trace:    Trace{MaxEvent: 256 * KiB, MaxFile: 50 * MiB},
		ACP:      ACP{Enabled: true},
		Image:    Image{Timeout: Duration(60 * time.Second)},
		Serve:    Serve{Mode: OwnCodex, Idle: Duration(10 * time.Minute), Listen: []string{"unix://"}, Answer: AnyClient},
		PolicySource: PolicySource{
			Refresh: Duration(15 * time.Minute),
			MaxAge:  Duration(168 * time.Hour),
			OnStale: KeepStale,
		},
	}
}

// entryDefaults returns a rule, handler, tool, tool server or agent with the default values.
func entryDefaults(pattern string) any {
	switch pattern {
	case "policy.rule[]":
		return Rule{}
	case "hooks.handler[]":
		return Handler{Timeout: Duration(5 * time.Second)}
	case "tools.*":
		return Tool{
			Timeout:     Duration(30 * time.Second),
			InputSchema: map[string]any{"type": "object", "properties": map[string]any{}},
			Loading:     Direct,
		}
	case "tool_servers.*":
		return ToolServer{Protocol: "mcp", Loading: Direct}
	case "acp.agents.*":
		return Agent{}
	case "approvals.desk.groups.*":
		return Group{}
	}
	return nil
}
