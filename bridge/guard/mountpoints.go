package guard

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/mountpoint"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
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
	g.reportBlocked(g.mountPoints.Hold(ctx, id, turn, mountPointsOf(t, profile, g.world)))
}

// reportBlocked tells the user about files that Hold has found in place of folders.
func (g *Guard) reportBlocked(files []string) {
	for _, file := range files {
		text := "Codex can't run a command in this thread: " + strconv.Quote(file) + " is a file, and a protected path is in a folder of that name. If the file is empty and not yours, a killed command has left it: remove it. Or open another thread, which protects the file itself."
		g.log.Warn(text)
		if !g.peer.OptedOut(configWarning) {
			g.peer.Notify(configWarning, map[string]any{"summary": text, "details": nil})
		}
	}
}

// mountPointsOf returns the folders that Codex mounts read-only in what a thread can write: protected
// paths, folders of PATH, and one in each root inside another.
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
	inside := slices.Clone(world.PathFolders)
	for _, root := range profile.InnerRoots() {
		inside = append(inside, filepath.Join(root, policy.CrossingName))
	}
	for _, folder := range inside {
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

// holdForRequest keeps the mount points of a profile that denies reading, from a request about its thread
// until Codex ends.
//
// Measured with Codex 0.169 and 0.171: with such a profile Codex reads AGENTS.md and skills of a trusted
// project inside the sandbox, when a thread opens, in each turn and also after the response. A read fails
// if the profile has a path in a missing folder, such as .github/workflows, and if a mount point comes or
// goes at its start, or one below a folder that the profile makes writable, such as .github/.agents, while
// Codex looks for files that a glob denies. No notification says when a read starts or ends.
func (g *Guard) holdForRequest(ctx context.Context, call *bridge.ClientMessage, d policy.Decision, state policy.State) {
	if g.mountPoints == nil {
		return
	}
	switch {
	case d.Sent == nil || !d.Sent.Profile.Denies() || call.Method != "thread/resume":
	case call.Params.Get("runtimeWorkspaceRoots").Kind() == rpc.Array:
		state.Stored = nil // Codex does not restore its roots
	case state.Stored == nil:
		if stored, err := g.readSettings(ctx, textOf(call, "threadId")); err == nil && stored.settings != nil {
			state.Stored = policy.ParseStoredProfile(stored.settings.Root())
		}
	}
	g.reportBlocked(g.mountPoints.Hold(ctx, ofDenials, "", mountPointsOfRequest(d, state)))
}

// mountPointsOfRequest returns the folders that Codex mounts read-only after a request, if the profile of
// its thread denies reading.
func mountPointsOfRequest(d policy.Decision, state policy.State) []mountpoint.Folder {
	var after policy.Thread // with each root that the thread may have then, and a sandbox that the request may raise
	switch open := state.Thread; {
	case d.Sent != nil && len(d.Sent.Profile.Folders) > 0:
		after.Profile, after.Workspace, after.Roots = d.Sent.Profile, d.Sent.Profile.Folders[0], d.Sent.Profile.Folders[1:]
		if d.Sent.Method == "thread/resume" && state.Stored != nil { // Codex restores its roots
			after.Roots = slices.Concat(after.Roots, state.Stored.Roots)
		}
	case d.Sent == nil && open != nil:
		after.Profile, after.Workspace, after.Cwd, after.Roots = open.Profile, open.Workspace, open.Cwd, slices.Concat(open.Roots, d.Writable)
	}
	if !after.Profile.Denies() {
		return nil
	}
	after.Sandbox, after.Roots = "workspace-write", slices.Concat(after.Roots, after.Profile.Roots)
	folders := mountPointsOf(&after, after.Profile, state)
	for _, root := range after.WorkspaceRoots(state) {
		for _, outer := range after.Profile.WritableNames() {
			if !strings.HasPrefix(outer, ".") {
				continue // in a folder of the project, an empty .git would end what git and Codex know of its repository
			}
			for _, name := range mountpoint.CodexNames {
				folders = append(folders, mountpoint.Folder{Root: root, Name: outer + "/" + name})
			}
		}
	}
	return folders
}
