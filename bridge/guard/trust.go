package guard

import (
	"fmt"
	"strconv"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
)

// warnUntrusted warns the user once per project that its own configuration is not loaded, since
// Codex does not say so. It sends the warning after the thread was opened.
func (g *Guard) warnUntrusted(call *bridge.ClientMessage, folder string, state policy.State) {
	root, project := folder, folder
	if roots, err := state.Repositories.Roots(folder); err == nil && len(roots) > 0 {
		root, project = roots[0], roots[len(roots)-1]
	}
	unloaded := unloadedFiles(folder, root)
	if len(unloaded) == 0 {
		return
	}
	call.OnResponse(func(a *bridge.ServerResponse) {
		if !a.Result().Exists() {
			return
		}
		if !g.notices.add("untrusted " + project) {
			return
		}
		summary := fmt.Sprintf("codex-bridge has found that %s is not a trusted project: %s not loaded.", project, listed(unloaded))
		hint := g.policy.Load().TrustHint(project, state)
		g.log.Warn(summary, "project", project, "hint", hint)
		g.warnAfter(a, map[string]any{"summary": summary, "details": hint})
	})
}

// listed returns the paths as the subject of a sentence, with its verb.
func listed(paths []string) string {
	const maxPaths = 5
	if n := len(paths) - maxPaths; n > 0 {
		paths = append(paths[:maxPaths:maxPaths], strconv.Itoa(n)+" more")
	}
	if len(paths) == 1 {
		return paths[0] + " is"
	}
	return strings.Join(paths, ", ") + " are"
}
