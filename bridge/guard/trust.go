package guard

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"codex-bridge/bridge"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// warning is the notification by which codex itself says that a project's own
// configuration is not loaded.
const configWarning = "configWarning"

// told are the projects that the user was told about.
type noticeSet struct {
	mu       sync.Mutex
	projects map[string]bool
}

// first tells whether nobody has heard of the project yet.
func (t *noticeSet) add(project string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.projects[project] {
		return false
	}
	if t.projects == nil {
		t.projects = make(map[string]bool)
	}
	t.projects[project] = true
	return true
}

// stands finds out in which folder the thread of a resume or fork stands; false
// when codex can't be asked. Measured: thread/read tells it of threads that are
// not loaded, too, and the folder is where a resume puts the thread.
func (g *Guard) readFolder(ctx context.Context, call *bridge.ClientMessage, state *policy.State) bool {
	result, err := g.peer.Call(ctx, "thread/read", map[string]any{"threadId": textOf(call, "threadId"), "includeTurns": false})
	var answered *rpc.Error
	switch {
	case errors.As(err, &answered) && answered.Code == rpc.CodeUpstream:
		// It knows no such thread, and will say so in its own words.
		state.UnknownThread = true
		return true
	case err != nil:
		g.log.Error("the folder of a thread can't be found out; it is not opened", "error", err)
		return false
	}
	text, _ := result.Get("thread").Get("cwd").Text()
	folder, err := state.Paths.Canonical(text)
	if err != nil {
		g.log.Error("the folder of a thread can't be judged; it is not opened", "cwd", text, "error", err)
		return false
	}
	state.ThreadFolder = folder
	return true
}

// stored finds out the sandbox of the last turn of the thread of a resume or fork; nil
// if Codex can't be asked.
func (g *Guard) readStored(ctx context.Context, call *bridge.ClientMessage) *policy.SandboxSettings {
	result, err := g.peer.Call(ctx, "thread/read", map[string]any{"threadId": textOf(call, "threadId"), "includeTurns": false})
	if err != nil {
		g.log.Error("the sandbox of a thread can't be found out; it is not opened", "error", err)
		return nil
	}
	path, hasFile := result.Get("thread").Get("path").Text()
	if !hasFile {
		return &policy.SandboxSettings{}
	}
	_, stored := g.LastSettings(path)
	return &stored
}

// keptUntrusted says, once for each project, that its own configuration is not
// loaded: nothing else would tell the user why it has no effect. It is said once
// the thread is there.
func (g *Guard) warnUntrusted(call *bridge.ClientMessage, folder string, state policy.State) {
	root, project := folder, folder
	if roots, err := state.Repositories.Roots(folder); err == nil && len(roots) > 0 {
		root, project = roots[0], roots[len(roots)-1]
	}
	kept := unloadedFiles(folder, root)
	if len(kept) == 0 {
		return
	}
	call.OnResponse(func(a *bridge.ServerResponse) {
		if !a.Result().Exists() {
			return
		}
		if !g.untrustedNotices.add(project) {
			return
		}
		summary := fmt.Sprintf("%s is not a trusted project: %s not loaded.", project, listed(kept))
		mend := g.policy.Load().TrustHint(project, state)
		g.log.Warn(summary, "project", project, "hint", mend)
		if g.peer.OptedOut(configWarning) {
			return
		}
		a.AfterSent(func() {
			g.peer.Notify(configWarning, map[string]any{"summary": summary, "details": mend})
		})
	})
}

// list is what was found, as a sentence's subject.
func listed(paths []string) string {
	const most = 5
	if n := len(paths) - most; n > 0 {
		paths = append(paths[:most:most], strconv.Itoa(n)+" more")
	}
	if len(paths) == 1 {
		return paths[0] + " is"
	}
	return strings.Join(paths, ", ") + " are"
}
