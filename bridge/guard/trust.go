package guard

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// readFolder sets the current folder of the thread of a resume or fork in state, from Codex. It
// returns false if Codex can't be asked. Measured: thread/read returns the folder of unloaded
// threads, too, and a resume uses that folder.
func (g *Guard) readFolder(ctx context.Context, call *bridge.ClientMessage, state *policy.State) bool {
	result, err := g.peer.Call(ctx, "thread/read", map[string]any{"threadId": textOf(call, "threadId"), "includeTurns": false})
	var refused *rpc.Error
	switch {
	case errors.As(err, &refused) && refused.Code == rpc.CodeUpstream:
		// Codex knows no such thread and will refuse the request.
		state.UnknownThread = true
		return true
	case err != nil:
		g.log.Error("the folder of a thread can't be read; the thread is not opened", "error", err)
		return false
	}
	text, _ := result.Get("thread").Get("cwd").Text()
	folder, err := state.Paths.Canonical(text)
	if err != nil {
		g.log.Error("the folder of a thread can't be resolved; the thread is not opened", "cwd", text, "error", err)
		return false
	}
	state.ThreadFolder = folder
	return true
}

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
