package guard

import (
	"context"
	"strconv"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/mountpoint"
	"codex-bridge.example/bridge/policy"
)

// holdMountPoints keeps the mount points of a thread's protected paths that do not exist until its
// turn ends, or a subagent's turn.
func (g *Guard) holdMountPoints(id string, t *policy.Thread) {
	if g.mountPoints == nil || t == nil {
		return
	}
	profile := t.Profile
	if root := g.rootThread(g.policy.Load(), id); root != nil {
		profile = root.Profile // a subagent inherits it
	}
	var folders []mountpoint.Folder
	for _, root := range t.WorkspaceRoots(g.world) {
		for _, name := range profile.ReadOnlyNames() {
			folders = append(folders, mountpoint.Folder{Root: root, Name: name})
		}
	}
	for _, file := range g.mountPoints.Hold(id, folders) {
		text := "codex-bridge has removed " + strconv.Quote(file) + ": a killed command had left this empty file in place of a protected folder, and Codex could not have run a command."
		g.log.Warn(text)
		if !g.peer.OptedOut(configWarning) {
			g.peer.Notify(configWarning, map[string]any{"summary": text, "details": nil})
		}
	}
}

// turnCompleted removes the mount points of a thread whose turn has ended.
func (g *Guard) turnCompleted(_ context.Context, msg *bridge.ServerMessage) {
	if id, ok := msg.Root().Get("params").Get("threadId").Text(); ok {
		g.mountPoints.Release(id)
	}
}
