package main

import (
	"context"
	"log/slog"

	"codex-bridge/lifecycle/threads"
	"codex-bridge/lifecycle/turns"
	"codex-bridge/relay/answer"
)

// sessions tells approvals of the threads of sessions.
type sessions struct {
	bound *threads.Feature
	*turns.Feature
	log *slog.Logger
}

// Apps implements approvals.Sessions. Where the session can't be read, nothing is consented to:
// the person is asked.
func (s sessions) Apps(ctx context.Context, thread string) *answer.Apps {
	policy, err := s.bound.Plugins(ctx, thread)
	if err != nil {
		s.log.Warn("it is not known which apps a session's thread has", "thread", thread, "error", err)
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
