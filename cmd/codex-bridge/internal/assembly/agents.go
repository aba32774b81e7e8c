package assembly

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/lifecycle/acp"
)

// DepthEnv has the number of bridges with agents above this one.
const DepthEnv = "CODEX_BRIDGE_ACP_DEPTH"

// AgentsGrace is how long agents have to end after Codex: more than twice their own grace.
const AgentsGrace = 6 * time.Second

// NestingDepth returns the number in DepthEnv. An invalid number counts as too many.
func NestingDepth() int {
	text := os.Getenv(DepthEnv)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return acp.MaxDepth
	}
	return n
}

// AgentSettings returns the settings of agents in the configuration.
func AgentSettings(cfg *config.Config) acp.Settings {
	s := acp.Settings{Enabled: cfg.ACP.Enabled, Default: cfg.ACP.DefaultAgent, Allowed: cfg.ACP.Allowed, Agents: map[string][]string{}}
	for id, agent := range cfg.ACP.Agents {
		s.Agents[id] = agent.Command
	}
	return s
}

// FolderAgents returns the settings of agents in the configuration of a folder.
func FolderAgents(folder string) (acp.Settings, error) {
	at, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return acp.Settings{}, err
	}
	if len(config.WorkspaceFiles(at)) == 0 {
		return acp.Settings{Enabled: true}, nil // the other files count for every folder
	}
	cfg, err := config.Load(configured.Setup.Files(at))
	if err != nil {
		return acp.Settings{}, err
	}
	return AgentSettings(cfg), nil
}

// AgentEnv returns the environment of agents: this process's, with CODEX_PATH set so that an
// agent that runs Codex runs it through the bridge.
func AgentEnv(cfg *config.Config) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the path of codex-bridge can't be determined: %w", err)
	}
	return codex.Environ(os.Environ(), map[string]string{"CODEX_PATH": self, DepthEnv: strconv.Itoa(NestingDepth() + 1)}, cfg.Codex.EnvRemove), nil
}

// agents runs the ACP agents that an editor starts beside its conversation.
type agents struct {
	*acp.Agents
	*acp.Feature
	config atomic.Pointer[config.Config]
}

func newAgents(cfg *config.Config, g *guard.Guard, hi *hello.Hello, log *slog.Logger) (*agents, error) {
	env, err := AgentEnv(cfg)
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
		Settings:       func() acp.Settings { return AgentSettings(a.config.Load()) },
		FolderSettings: FolderAgents,
		Env:            env, Dir: dir, Version: buildinfo.Version, Log: log,
		Judge:    acp.Judge{Policy: g, Person: acp.NewClientApprover(hi, a.askTimeout)}.Decide,
		Notify:   func(u acp.Update) { hi.Notify(acp.UpdateMethod, u) },
		Journal:  journal,
		HasPlace: true, // a client gets the session that it asks for by key
	})
	a.Feature = acp.NewFeature(a.Agents, hi.KnowsBridge, g.Sandboxed, NestingDepth())
	hi.AddMethods(acp.Methods...)
	hi.AddStatus("agents", func() any { return a.List() })
	return a, nil
}

// AgentLogs is the folder of the agents' logs in the state folder.
const AgentLogs = "acp"

// journal creates the log of the updates that a conversation gets from an agent.
func journal(name string) (io.WriteCloser, string, error) {
	folder, err := statefolder.Path()
	if err != nil {
		return nil, "", err
	}
	f, err := store.NewJournal(folder, AgentLogs, name)
	if err != nil {
		return nil, "", err
	}
	return f, f.Name(), nil
}

func (a *agents) setConfig(cfg *config.Config) { a.config.Store(cfg) }

// askTimeout returns how long a user has to answer.
func (a *agents) askTimeout() time.Duration { return time.Duration(a.config.Load().Approvals.Timeout) }

// AgentRow is an agent in the list. The JSON names are stable.
type AgentRow struct {
	ID      string   `json:"id"`
	Command []string `json:"command"`
	Found   string   `json:"found,omitempty"` // the path of the program; empty if it is not installed
	Default bool     `json:"default"`
	Allowed bool     `json:"allowed"`
}

// AgentRows returns the agents of the configuration, sorted by id.
func AgentRows(cfg *config.Config) []AgentRow {
	s := AgentSettings(cfg)
	rows := []AgentRow{}
	for _, id := range slices.Sorted(maps.Keys(s.Agents)) {
		r := AgentRow{ID: id, Command: s.Agents[id], Default: config.AgentID(id) == config.AgentID(s.Default)}
		r.Allowed = s.Allowed == nil || slices.ContainsFunc(s.Allowed, func(one string) bool { return config.AgentID(one) == config.AgentID(id) })
		if path, err := exec.LookPath(r.Command[0]); err == nil {
			r.Found = path
		}
		rows = append(rows, r)
	}
	return rows
}
