package guard

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"codex-bridge.example/bridge/mountpoint"
	"codex-bridge.example/bridge/policy"
)

// holdMountPoints keeps the mount points of a thread's read-only folders that do not exist until its
// turn ends, or a subagent's turn.
func (g *Guard) holdMountPoints(ctx context.Context, id, turn string, t *policy.Thread) {
	if g.mountPoints == nil || t == nil {
		return
	}
	profile := t.Profile
	if root := g.rootThread(g.policy.Load(), id); root != nil {
		profile = root.Profile // a subagent inherits it
	}
	g.reportRemoved(g.mountPoints.Hold(ctx, id, turn, mountPointsOf(t, profile, g.world)))
}

// reportRemoved tells the user about empty files that Hold has removed.
func (g *Guard) reportRemoved(files []string) {
	for _, file := range files {
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

// ofDenials is the name under which the mount points of profiles that deny reading are kept.
const ofDenials = "profiles that deny reading"

// holdForRequest keeps the mount points below missing folders of a profile that denies reading, from a
// request about its thread until Codex ends.
//
// Measured with Codex 0.169 and 0.171: with such a profile Codex reads AGENTS.md of a trusted project
// inside the sandbox, when a thread opens and when its sandbox changes. It fails if the profile has a
// path in a missing folder, such as .github/workflows. With the mount points during requests and turns
// only, a fork after the turn of an agent still failed.
func (g *Guard) holdForRequest(ctx context.Context, d policy.Decision, thread *policy.Thread) {
	var profile policy.Profile
	switch {
	case d.Sent != nil:
		profile = d.Sent.Profile
	case thread != nil:
		profile = thread.Profile
	}
	if folders := innerMountPoints(profile); g.mountPoints != nil && len(folders) > 0 {
		g.reportRemoved(g.mountPoints.Hold(ctx, ofDenials, "", folders))
	}
}

// innerMountPoints returns the mount points of a profile that denies reading whose parent folders may be
// missing.
func innerMountPoints(profile policy.Profile) (folders []mountpoint.Folder) {
	if !profile.Denies() {
		return nil
	}
	for _, root := range profile.Folders {
		for _, name := range profile.ReadOnlyNames() {
			if strings.Contains(name, "/") {
				folders = append(folders, mountpoint.Folder{Root: root, Name: name})
			}
		}
	}
	return folders
}
