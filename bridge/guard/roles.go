package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/toml"
	"codex-bridge.example/rpc"
)

// agentSettings returns the settings of an agent that a call starts or resumes, beside the call's
// arguments. It returns nil for another call, and if the policy does not limit agents.
func (g *Guard) agentSettings(ctx context.Context, p *policy.Policy, t *policy.Thread, use toolcall.Call) *policy.AgentSettings {
	switch {
	case !toolcall.LimitsAgents(p):
		return nil
	case toolcall.SpawnsAgent(use.Name):
		found, err := g.newAgentSettings(ctx, t, use.Input.Get("agent_type"))
		if err != nil {
			return &policy.AgentSettings{UnknownReason: err.Error()}
		}
		return found
	case toolcall.ResumesAgent(use.Name):
		// Measured: any thread on disk can be resumed, with the model of its last turn.
		id, _ := use.Input.Get("id").Text()
		last, err := g.readSettings(ctx, id)
		switch {
		case err != nil:
			return &policy.AgentSettings{UnknownReason: "Codex can't be asked about its last turn: " + err.Error()}
		case last.problem != "":
			return &policy.AgentSettings{UnknownReason: "Codex's record of it can't be read: " + last.problem}
		case last.settings == nil:
			return &policy.AgentSettings{UnknownReason: "its last turn is not in Codex's files"}
		}
		found := new(policy.AgentSettings)
		found.Models = appendText(found.Models, last.settings.Root().Get("model"))
		found.Efforts = appendText(found.Efforts, last.settings.Root().Get("effort"))
		if len(found.Models) == 0 {
			found.UnknownReason = "its last turn names no model"
		}
		return found
	}
	return nil
}

// defaultRole is the role of an agent if the call names none.
const defaultRole = "default"

// newAgentSettings returns the settings of a new agent in Codex's configuration and the files of
// its role.
//
// Measured: a role is [agents.NAME] with a config_file, or a file in the folder agents beside a
// loaded config.toml, the user's or a trusted project's. Its name may be that of a role of Codex.
// Only its model and effort take effect.
func (g *Guard) newAgentSettings(ctx context.Context, t *policy.Thread, agentType rpc.Value) (*policy.AgentSettings, error) {
	if t == nil {
		return nil, errors.New("the thread is not known")
	}
	role := defaultRole
	if agentType.Exists() && agentType.Kind() != rpc.Null {
		var ok bool
		if role, ok = agentType.Text(); !ok {
			return nil, errors.New("agent_type is not a string")
		}
	}
	read, err := g.peer.Call(ctx, "config/read", map[string]any{"cwd": t.Workspace, "includeLayers": false})
	if err != nil {
		return nil, fmt.Errorf("Codex's configuration can't be read: %w", err)
	}
	agents := read.Get("config").Get("agents")
	found := &policy.AgentSettings{
		Models:  appendText(nil, agents.Get("default_subagent_model")),
		Efforts: appendText(nil, agents.Get("default_subagent_reasoning_effort")),
	}
	for name, declared := range agents.Members() {
		file := declared.Get("config_file")
		if declared.Kind() != rpc.Object || !file.Exists() || file.Kind() == rpc.Null {
			continue
		}
		path, _ := file.Text()
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("agents.%s.config_file is not an absolute path", name)
		}
		if err := addRole(found, path, role, name); err != nil {
			return nil, err
		}
	}
	for _, folder := range g.roleFolders(t) {
		if err := addRoles(found, folder, role); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// roleFolders returns the folders in which Codex looks for files of roles.
func (g *Guard) roleFolders(t *policy.Thread) []string {
	folders := []string{filepath.Join(filepath.FromSlash("/etc/codex"), "agents")}
	if g.world.CodexHome != "" {
		folders = append(folders, filepath.Join(g.world.CodexHome, "agents"))
	}
	return append(folders, inProjects(t.Projects, "agents")...)
}

// inProjects returns the folders .codex/NAME that Codex may have read for a thread: those of the
// projects, and of the folders above them.
func inProjects(projects []string, name string) (folders []string) {
	for _, project := range projects {
		for at := project; ; at = filepath.Dir(at) {
			if folder := filepath.Join(at, ".codex", name); !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
			if filepath.Dir(at) == at {
				break
			}
		}
	}
	return folders
}

const (
	maxRoles    = 256
	maxRoleSize = 1 << 20
)

// addRoles adds the settings of a role from the files below folder.
func addRoles(found *policy.AgentSettings, folder, role string) error {
	folder, err := filepath.EvalSymlinks(folder) // Codex follows no links below the folder
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR): // .codex may be a file
		return nil
	case err != nil:
		return fmt.Errorf("roles can't be read: %w", err)
	}
	count := 0
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("roles can't be read: %w", err)
		case !entry.Type().IsRegular() || filepath.Ext(path) != ".toml":
			return nil
		}
		if count++; count > maxRoles {
			return fmt.Errorf("there are more than %d roles in %s", maxRoles, folder)
		}
		return addRole(found, path, role, "")
	})
}

// addRole adds the settings of one file if it is that of the role. declared is the role's name in
// the configuration; "" if it has none.
func addRole(found *policy.AgentSettings, path, role, declared string) error {
	file, err := readTOML(path)
	if err != nil {
		return fmt.Errorf("the role in %s can't be read: %w", path, err)
	}
	name, _ := file["name"].(string)
	if name = strings.TrimSpace(name); name == "" {
		name = declared
	}
	if name != role && declared != role && name != "" {
		return nil
	}
	for key, list := range map[string]*[]string{"model": &found.Models, "model_reasoning_effort": &found.Efforts} {
		switch v := file[key].(type) {
		case nil:
		case string:
			*list = append(*list, v)
		default:
			return fmt.Errorf("%s of the role in %s is not a string", key, path)
		}
	}
	for _, key := range []string{"profile", "profiles"} {
		if _, is := file[key]; is {
			return fmt.Errorf("the role in %s names a profile", path)
		}
	}
	return nil
}

// readTOML returns the values in a regular file of at most maxRoleSize bytes.
func readTOML(path string) (map[string]any, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxRoleSize {
		return nil, errors.New("it is not a regular file of at most 1 MiB")
	}
	f, err := config.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, maxRoleSize))
	if err != nil {
		return nil, err
	}
	return toml.Values(string(text))
}

// appendText appends v to list if it is a string.
func appendText(list []string, v rpc.Value) []string {
	if text, ok := v.Text(); ok {
		return append(list, text)
	}
	return list
}
