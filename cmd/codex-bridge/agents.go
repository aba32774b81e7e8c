package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/acp"
)

// depthEnv has the number of bridges with agents above this one.
const depthEnv = "CODEX_BRIDGE_ACP_DEPTH"

// agentsGrace is how long agents have to end after Codex: more than twice their own grace.
const agentsGrace = 6 * time.Second

// nestingDepth returns the number in depthEnv. An invalid number counts as too many.
func nestingDepth() int {
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

// agentSettings returns the settings of agents in the configuration.
func agentSettings(cfg *config.Config) acp.Settings {
	s := acp.Settings{Enabled: cfg.ACP.Enabled, Default: cfg.ACP.DefaultAgent, Allowed: cfg.ACP.Allowed, Agents: map[string][]string{}}
	for id, agent := range cfg.ACP.Agents {
		s.Agents[id] = agent.Command
	}
	return s
}

// folderAgents returns the settings of agents in the configuration of a folder.
func folderAgents(folder string) (acp.Settings, error) {
	at, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return acp.Settings{}, err
	}
	if len(config.WorkspaceFiles(at)) == 0 {
		return acp.Settings{Enabled: true}, nil // the other files count for every folder
	}
	cfg, err := config.Load(setup.Files(at))
	if err != nil {
		return acp.Settings{}, err
	}
	return agentSettings(cfg), nil
}

// agentEnv returns the environment of agents: this process's, with CODEX_PATH set so that an
// agent that runs Codex runs it through the bridge.
func agentEnv(cfg *config.Config) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the path of codex-bridge can't be determined: %w", err)
	}
	return codex.Environ(os.Environ(), map[string]string{"CODEX_PATH": self, depthEnv: strconv.Itoa(nestingDepth() + 1)}, cfg.Codex.EnvRemove), nil
}

// agents runs the ACP agents that an editor starts beside its conversation.
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
		Settings:       func() acp.Settings { return agentSettings(a.config.Load()) },
		FolderSettings: folderAgents,
		Env:            env, Dir: dir, Version: Version, Log: log,
		Judge:    acp.Judge{Policy: g, Person: acp.NewClientApprover(hi, a.askTimeout)}.Decide,
		Notify:   func(u acp.Update) { hi.Notify(acp.UpdateMethod, u) },
		Journal:  journal,
		HasPlace: true, // a client gets the session that it asks for by key
	})
	a.Feature = acp.NewFeature(a.Agents, hi.KnowsBridge, g.Sandboxed, nestingDepth())
	hi.AddMethods(acp.Methods...)
	hi.AddStatus("agents", func() any { return a.List() })
	return a, nil
}

// agentLogs is the folder of the agents' logs in the state folder.
const agentLogs = "acp"

// journal creates the log of the updates that a conversation gets from an agent.
func journal(name string) (io.WriteCloser, string, error) {
	folder, err := statefolder.Path()
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

// askTimeout returns how long a user has to answer.
func (a *agents) askTimeout() time.Duration { return time.Duration(a.config.Load().Approvals.Timeout) }
