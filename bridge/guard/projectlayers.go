package guard

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/userrules"
	"codex-bridge.example/rpc"
)

// checkProjects refuses a request that opens a thread if Codex alone would load configuration of a project
// that the user trusts, which Codex does not load for the request that the bridge sends, and which may
// forbid something. That is so under policy.project_trust "never", and where the client names the folder by
// a link: the bridge sends the folder to which the link leads.
func (g *Guard) checkProjects(ctx context.Context, policies []*policy.Policy, call *bridge.ClientMessage, d policy.Decision, state *policy.State) *rpc.Error {
	if d.Verdict == policy.Deny || d.Sent == nil || state.Defaults == nil || !state.Defaults.Projects.TrustsAny() {
		return nil
	}
	m, err := rpc.ParseMessage(d.Message)
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "the bridge can't read the rewritten message: %v", err)
	}
	sent := g.sentFolder(d, state)
	unloaded := policy.MarksUntrusted(m.Params, sent)
	if _, named := m.Params.Get("cwd").Text(); !named && !unloaded {
		return nil // Codex opens the thread in the same folder as alone
	}
	restores := g.restoresApproval(ctx, call, state)
	for _, folder := range g.foldersOfCodexAlone(ctx, call, sent, state) {
		if !unloaded && folder == sent {
			continue
		}
		narrows, err := g.lostNarrowing(ctx, folder, sent, unloaded, func(folder string) ([]policy.ProjectLayer, error) {
			return g.projectLayers(ctx, folder, call.Params, restores)
		})
		if err != nil {
			return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
				Method: call.Method, Field: "params.cwd", Rule: "policy.project_trust",
				Reason: "the bridge can't find out which configuration of projects Codex loads in " + folder + ": " + err.Error(), Hint: "find out why config/read and hooks/list fail",
			})
		}
		if len(narrows) > 0 {
			return lostProjectError(call.Method, policies, folder, sent, narrows, state)
		}
	}
	return nil
}

// sentFolder returns the folder in which the request that the bridge sends opens a thread.
func (g *Guard) sentFolder(d policy.Decision, state *policy.State) string {
	if d.Workspace != "" {
		return d.Workspace
	}
	return state.ThreadFolder
}

// restoresApproval reports whether Codex restores the approval policy of the thread that a request opens.
func (g *Guard) restoresApproval(ctx context.Context, call *bridge.ClientMessage, state *policy.State) bool {
	reopens := call.Method == "thread/resume" || call.Method == "thread/fork"
	if reopens && state.Thread == nil && state.StoredApproval == nil && !g.readStored(ctx, call, state) {
		return false
	}
	return state.Thread != nil || state.StoredApproval != nil && string(state.StoredApproval) != "null"
}

// foldersOfCodexAlone returns the folders in which Codex alone could open the thread, with their links.
//
// Measured with Codex 0.169: thread/read and forks resolve the links of a thread's folder, and a cold resume
// takes the folder of the last turn as it was written.
func (g *Guard) foldersOfCodexAlone(ctx context.Context, call *bridge.ClientMessage, sent string, state *policy.State) (folders []string) {
	if cwd := textOf(call, "cwd"); cwd != "" {
		if folder, err := state.AbsoluteCwd(cwd); err == nil { // else the request is refused
			folders = append(folders, folder)
		}
		return folders
	}
	if id := textOf(call, "threadId"); call.Method == "thread/resume" && isCanonicalUUID(id) {
		// Where the record can't be read, originalFolder has refused the request, or the thread is loaded.
		if stored, err := g.readSettings(ctx, id); err == nil && stored.settings != nil {
			if last, _ := stored.settings.Root().Get("cwd").Text(); last != "" && last != sent {
				folders = append(folders, last)
			}
		}
	}
	if sent != "" {
		folders = append(folders, sent)
	}
	return folders
}

// lostNarrowing names keys, rules and hooks of projects that may forbid something, and that Codex loads for
// folder but not for sent. If unloaded is set, Codex loads none for sent.
func (g *Guard) lostNarrowing(ctx context.Context, folder, sent string, unloaded bool, layersOf func(folder string) ([]policy.ProjectLayer, error)) (narrows []string, err error) {
	alone, err := layersOf(folder)
	if err != nil || len(alone) == 0 {
		return nil, err
	}
	kept := map[string]bool{}
	if !unloaded {
		layers, err := layersOf(sent)
		if err != nil {
			return nil, err
		}
		for _, layer := range layers {
			kept[g.canonicalOr(layer.Folder)] = true
		}
	}
	for _, layer := range alone {
		if kept[g.canonicalOr(layer.Folder)] {
			continue
		}
		for _, key := range layer.Narrows {
			narrows = append(narrows, key+" in "+filepath.Join(layer.Folder, "config.toml"))
		}
		rules := new(userrules.Reader).Read(filepath.Join(layer.Folder, "rules"))
		if rules.Err != nil || len(rules.Allowing()) < len(rules.Rules) {
			narrows = append(narrows, "the rules in "+filepath.Join(layer.Folder, "rules"))
		}
		trusts, err := g.trustsHooks(ctx, folder, layer.Folder)
		if err != nil {
			return nil, err
		}
		if trusts {
			narrows = append(narrows, "the hooks in "+layer.Folder+" that you trust")
		}
	}
	return narrows, nil
}

// canonicalOr returns the canonical path; the path itself if it has none.
func (g *Guard) canonicalOr(path string) string {
	if at, err := g.world.Paths.Canonical(path); err == nil {
		return at
	}
	return path
}

// projectLayers returns the configuration of projects that Codex loads for a folder.
func (g *Guard) projectLayers(ctx context.Context, folder string, params rpc.Value, restores bool) ([]policy.ProjectLayer, error) {
	result, err := g.peer.Call(ctx, "config/read", map[string]any{"includeLayers": true, "cwd": folder})
	if err != nil {
		return nil, err
	}
	return policy.ParseProjectLayers(result, params, restores)
}

// trustsHooks reports whether Codex runs hooks of a project's .codex folder in threads of a folder.
func (g *Guard) trustsHooks(ctx context.Context, folder, dotCodex string) (bool, error) {
	result, err := g.peer.Call(ctx, "hooks/list", map[string]any{"cwds": []string{folder}})
	if err != nil {
		return false, err
	}
	data := result.Get("data")
	if data.Kind() != rpc.Array {
		return false, fmt.Errorf("hooks/list: data is %v", data.Kind())
	}
	for entry := range data.Elements() {
		hooks := entry.Get("hooks")
		if hooks.Kind() != rpc.Array {
			return false, fmt.Errorf("hooks/list: hooks is %v", hooks.Kind())
		}
		for hook := range hooks.Elements() {
			source, _ := hook.Get("sourcePath").Text()
			if policy.Within(dotCodex, source) && !hook.Get("trustStatus").Is("untrusted") && !hook.Get("trustStatus").Is("modified") {
				return true, nil
			}
		}
	}
	return false, nil
}

// lostProjectError refuses a thread for which configuration of a trusted project would be lost.
func lostProjectError(method string, policies []*policy.Policy, folder, sent string, narrows []string, state *policy.State) *rpc.Error {
	file := state.Defaults.Projects.File
	if file == "" {
		file = "Codex's config.toml"
	}
	r := policy.Refusal{
		Method: method, Field: "params.cwd", Rule: "policy.project_trust",
		Reason: fmt.Sprintf("%s trusts the project of %s, which may forbid something, but Codex would not load this part of it: %s", file, folder, strings.Join(narrows, ", ")),
	}
	untrust := fmt.Sprintf("set trust_level = \"untrusted\" for the project in %s, so that Codex alone does not load it either", file)
	never := slices.IndexFunc(policies, func(p *policy.Policy) bool { return p.ProjectTrust() == "never" })
	switch {
	case never >= 0:
		r.Origin = policies[never].TrustOrigin()
		r.Hint = "set project_trust = \"user\", or " + untrust
	case folder != sent:
		r.Reason += fmt.Sprintf(". That folder is %s, which the bridge sends in its place", sent)
		r.Hint = fmt.Sprintf("trust the project of %s in %s, too, or open the thread in %s", sent, file, sent)
	case state.Defaults.Projects.List == "":
		r.Hint = fmt.Sprintf("trust %s in %s, or %s", sent, file, untrust)
	default:
		r.Hint = "add the project to " + state.Defaults.Projects.List + ", or " + untrust
	}
	return policy.NewRefusalError(rpc.CodeRefused, r)
}
