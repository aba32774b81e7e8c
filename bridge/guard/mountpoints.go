package guard

import (
	"context"
	"path/filepath"
	"strconv"

	"codex-bridge.example/bridge/mountpoint"
	"codex-bridge.example/bridge/policy"
)

// holdMountPoints keeps the mount points of a thread's read-only folders that do not exist until its
// turn ends, or a subagent's turn.
func (g *Guard) holdMountPoints(ctx context.Context, id string, t *policy.Thread) {
	if g.mountPoints == nil || t == nil {
		return
	}
	profile := t.Profile
	if root := g.rootThread(g.policy.Load(), id); root != nil {
		profile = root.Profile // a subagent inherits it
	}
	for _, file := range g.mountPoints.Hold(ctx, id, mountPointsOf(t, profile, g.world)) {
		text := "codex-bridge has removed " + strconv.Quote(file) + ": a killed command had left this empty file in place of a protected folder, and Codex could not have run a command."
		g.log.Warn(text)
		if !g.peer.OptedOut(configWarning) {
			g.peer.Notify(configWarning, map[string]any{"summary": text, "details": nil})
		}
	}
}

// mountPointsOf returns the folders that Codex mounts read-only in what a thread can write: protected
// paths and folders of PATH.
func mountPointsOf(t *policy.Thread, profile policy.Profile, world policy.State) (folders []mountpoint.Folder) {
	roots := t.WorkspaceRoots(world)
	if !profile.Defined || len(roots) == 0 {
		return nil
	}
	for _, root := range roots {
		for _, name := range profile.ReadOnlyNames() {
			folders = append(folders, mountpoint.Folder{Root: root, Name: name})
		}
	}
	for _, temp := range world.Temps {
		roots = append(roots, temp.Path)
	}
	for _, folder := range world.PathFolders {
		for _, root := range roots {
			if name, err := filepath.Rel(root, folder); err == nil && profile.Entries[folder] == "read" && folder != root && policy.Within(root, folder) {
				folders = append(folders, mountpoint.Folder{Root: root, Name: filepath.ToSlash(name)})
			}
		}
	}
	return folders
}
