package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"codex-bridge/bridge/codex"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/guard"
	"codex-bridge/bridge/hello"
	"codex-bridge/bridge/store"
	"codex-bridge/lifecycle/acp"
)

// depthEnv counts the bridges with agents that lie above one.
const depthEnv = "CODEX_BRIDGE_ACP_DEPTH"

// agentsGrace is how long agents have to end once codex has: twice their own grace, and some.
const agentsGrace = 6 * time.Second

// depth is how many there are. What can't be read counts as too many.
func depth() int {
	text := os.Getenv(depthEnv)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return acp.MaxDepth
	}
	return n
}

// agentSettings are those of the configuration.
func agentSettings(cfg *config.Config) acp.Settings {
	s := acp.Settings{Enabled: cfg.ACP.Enabled, Default: cfg.ACP.DefaultAgent, Allowed: cfg.ACP.Allowed, Agents: map[string][]string{}}
	for id, agent := range cfg.ACP.Agents {
		s.Agents[id] = agent.Command
	}
	return s
}

// agentEnv is the environment of agents: our own, and for one that is a Codex the bridge as
// its codex.
func agentEnv(cfg *config.Config) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("our own program can't be found: %w", err)
	}
	return codex.Environ(os.Environ(), map[string]string{"CODEX_PATH": self, depthEnv: strconv.Itoa(depth() + 1)}, cfg.Codex.EnvRemove), nil
}

// agents are those that an editor has work beside its conversation.
type agents struct {
	*acp.Agents
	*acp.Feature
	config atomic.Pointer[config.Config]
}

func newAgents(cfg *config.Config, g *guard.Guard, hi *hello.Hello, log *slog.Logger) (*agents, error) {
	env, err := agentEnv(cfg)
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	a := &agents{}
	a.config.Store(cfg)
	a.Agents = acp.New(acp.Options{
		Settings: func() acp.Settings { return agentSettings(a.config.Load()) },
		Env:      env, Dir: dir, Version: Version, Log: log,
		Judge:   acp.Judge{Policy: g, Person: acp.NewClientApprover(hi, a.patience)}.Decide,
		Notify:  func(u acp.Update) { hi.Notify(acp.UpdateMethod, u) },
		Journal: journal,
		// An editor that asks for one has it: the session is called by its key.
		Place: acp.Place{Prepare: func(acp.Requester) error { return nil }},
	})
	a.Feature = acp.NewFeature(a.Agents, hi.KnowsBridge, g.Sandboxed, depth())
	hi.AddMethods(acp.Methods...)
	hi.AddStatus("agents", func() any { return a.List() })
	return a, nil
}

// closeAgents ends the agents: politely, which may take as long again as it may take codex,
// and does not wait for an editor that does not hear of it.
func closeAgents(a *agents) {
	ctx, cancel := context.WithTimeout(context.Background(), agentsGrace)
	defer cancel()
	a.Close(ctx)
}

// agentLogs is the folder of such logs, in that of the state.
const agentLogs = "acp"

// journal is a log of what a conversation is told of an agent.
func journal(name string) (io.WriteCloser, string, error) {
	folder, err := store.Folder()
	if err != nil {
		return nil, "", err
	}
	f, err := store.NewJournal(folder, agentLogs, name)
	if err != nil {
		return nil, "", err
	}
	return f, f.Name(), nil
}

func (a *agents) setConfig(cfg *config.Config) { a.config.Store(cfg) }

// patience is how long a person has to answer.
func (a *agents) patience() time.Duration { return time.Duration(a.config.Load().Approvals.Timeout) }
