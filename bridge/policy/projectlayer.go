package policy

import (
	"fmt"
	"slices"

	"codex-bridge.example/rpc"
)

// ProjectLayer is configuration of a project that Codex loads for a folder.
type ProjectLayer struct {
	// Folder is the .codex folder, as Codex names it. Its rules and hooks count, too.
	Folder string
	// Narrows are the keys of its config.toml without which a thread may be allowed more, sorted.
	Narrows []string
}

// ParseProjectLayers returns the projects' layers that count in a result of config/read with
// includeLayers. params are those of the request that opens the thread. restores reports that Codex restores
// the approval policy of the thread's last turn if the request has none.
//
// Measured with Codex 0.169: it lists the layer of each .codex folder up to the root of the project, also
// if that has only rules. It looks up the trust by the spelling of the cwd, and does not follow links.
func ParseProjectLayers(result, params rpc.Value, restores bool) (layers []ProjectLayer, err error) {
	all := result.Get("layers")
	if all.Kind() != rpc.Array {
		return nil, fmt.Errorf("config/read: layers is %v", all.Kind())
	}
	active := activeLayers(all)
	for _, layer := range active {
		name := layer.Get("name")
		if !name.Get("type").Is(projectLayer) {
			continue
		}
		folder, ok := name.Get("dotCodexFolder").Text()
		if !ok {
			return nil, fmt.Errorf("config/read: the layer of a project has no dotCodexFolder")
		}
		one := ProjectLayer{Folder: folder}
		for key, v := range layer.Get("config").Members() {
			restored := restores && key == "approval_policy"
			if !IsUnset(v) && !restored && mayNarrow(key, v, active, params) {
				one.Narrows = append(one.Narrows, key)
			}
		}
		slices.Sort(one.Narrows)
		layers = append(layers, one)
	}
	return layers, nil
}

// harmlessKeys are keys of a project without which commands, questions, files and the network are not
// allowed more. Of hooks, hooks/list has those that the user trusts.
var harmlessKeys = []string{
	"developer_instructions", "hooks", "model", "model_auto_compact_token_limit", "model_context_window", "model_reasoning_effort",
	"model_reasoning_summary", "model_verbosity", "notify", "personality", "plan_mode_reasoning_effort", "project_doc_fallback_filenames",
	"project_doc_max_bytes", "projects", "review_model", "tui",
}

// mayNarrow reports whether a thread may be allowed more without a key of a project's layer. Most keys are
// not known to be harmless: features can be off, and a table adds to that of the user.
func mayNarrow(key string, v rpc.Value, active []rpc.Value, params rpc.Value) bool {
	switch {
	case slices.Contains(harmlessKeys, key):
		return false
	case key == sandboxModeKey && v.Is("danger-full-access"):
		return false
	case key == sandboxModeKey, key == defaultPermissionsKey:
		return IsUnset(params.Get("sandbox")) && IsUnset(params.Get(permissionsKey))
	case key == "approval_policy":
		return IsUnset(params.Get("approvalPolicy"))
	case key == "approvals_reviewer":
		return IsUnset(params.Get("approvalsReviewer"))
	case key != mcpServersKey:
		return true
	}
	for server := range v.Members() {
		if slices.ContainsFunc(active, func(layer rpc.Value) bool {
			return !layer.Get("name").Get("type").Is(projectLayer) && layer.Get("config").Get(key).Get(server).Exists()
		}) {
			return true
		}
	}
	return false
}

// TrustsAny reports whether Codex's configuration trusts any project.
func (p Projects) TrustsAny() bool { return len(p.Others) > 0 || len(p.trustedKeys()) > 0 }

// TrustOrigin returns the place that sets policy.project_trust, for a message.
func (p *Policy) TrustOrigin() string { return p.OriginOrDefault(ruleTrust) }

// MarksUntrusted reports whether the overlay of a request that opens a thread marks a folder untrusted.
func MarksUntrusted(params rpc.Value, folder string) bool {
	return params.Get("config").Get(projectsKey).Get(trustKey(folder)).Get("trust_level").Is(string(untrusted))
}
