package assembly

import (
	"context"
	"log/slog"

	"codex-bridge.example/lifecycle/threads"
	"codex-bridge.example/lifecycle/turns"
	"codex-bridge.example/relay/answer"
)

// sessions implements approvals.Sessions.
type sessions struct {
	bound *threads.Feature
	*turns.Feature
	log *slog.Logger
}

// Apps implements approvals.Sessions. If the session can't be read it returns nil, so that the
// user is asked.
func (s sessions) Apps(ctx context.Context, thread string) *answer.Apps {
	policy, err := s.bound.Plugins(ctx, thread)
	if err != nil {
		s.log.Warn("can't read the apps of a session's thread", "thread", thread, "error", err)
	}
	if policy == nil {
		return nil
	}
	apps := &answer.Apps{ByID: make(map[string]answer.App)}
	for id, a := range policy.Apps {
		apps.ByID[id] = answer.App{ConfigKey: a.ConfigKey, PluginName: a.Plugin, Destructive: a.AllowDestructiveActions, Servers: a.MCPServers}
	}
	return apps
}
