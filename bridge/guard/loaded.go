package guard

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/rpc"
)

// openedUnenforcedError returns the refusal of a thread that Codex loaded while no policy was
// enforced, or one that allowed another overlay.
func openedUnenforcedError(method string) *rpc.Error {
	return policy.NewRefusalError(rpc.CodeNotVerified, policy.Refusal{
		Method: method, Rule: "policy.mode", Hint: "restart Codex, then open the thread",
		Reason: "the thread was opened before this policy was enforced, and Codex still has it in memory with its earlier configuration",
	})
}

// recordedFolders returns the folders in which the thread of a rollout file was opened, and its last one.
func (g *Guard) recordedFolders(ctx context.Context, path, id string) (opened, last string, err error) {
	home := g.world.CodexHome
	if opened, err = readFromDisk(ctx, func() (string, error) { return rollout.OpenedFolder(home, path, id) }); err != nil {
		return "", "", err
	}
	settings, err := g.storedSettings(ctx, path)
	if err != nil {
		return "", "", err
	}
	return opened, rollout.LastFolder(opened, settings), nil
}

// originalFolder returns the canonical folder in which the thread of a resume or fork was opened,
// if a turn may have moved the thread since, and the folder to which the turn has moved it; "" if that
// is unknown. Codex would open the thread in the second folder, so originalFolder refuses a thread whose
// record can't be read.
//
// It returns no folder for another request, if no turn has moved the thread, if the request has a cwd, or
// if Codex knows no such thread. It also returns none if Codex has the thread in memory, because
// Codex then ignores the cwd of a resume, unless the client has unsubscribed from the thread.
func (g *Guard) originalFolder(ctx context.Context, m *rpc.Message) (folder, movedTo string, refusal *rpc.Error) {
	_, named := m.Params.Get("cwd").Text()
	id, _ := m.Params.Get("threadId").Text()
	if named || !isCanonicalUUID(id) || m.Method != "thread/resume" && m.Method != "thread/fork" {
		return "", "", nil
	}
	read, err := g.peer.Call(ctx, "thread/read", map[string]any{"threadId": id, "includeTurns": false})
	var answered *rpc.Error
	if errors.As(err, &answered) && answered.Code == rpc.CodeUpstream {
		return "", "", nil // Codex refuses the request, too
	}
	path, written := read.Get("thread").Get("path").Text()
	if err == nil && !written {
		return "", "", nil // a thread in memory only
	}
	var opened, last string
	if err == nil {
		opened, last, err = g.recordedFolders(ctx, path, id)
	}
	if err == nil && opened == last {
		return "", "", nil
	}
	if _, unsubscribed := g.threads.profile(id); !unsubscribed {
		loaded, failed := g.listLoaded(ctx)
		if failed != nil {
			return "", "", failed
		}
		if slices.Contains(loaded, id) {
			return "", "", nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) && !rollout.HasFile(g.world.CodexHome, id) {
		return "", "", nil // Codex refuses the request, too, unless no turn has run in the thread
	}
	if err == nil {
		folder, err = g.world.Paths.Canonical(opened)
	}
	if err != nil {
		return "", "", policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
			Method: m.Method, Rule: "policy", Field: "params.threadId",
			Reason: "the folder in which the thread was opened is not known, because Codex's record of the thread can't be read: " + err.Error(),
			Hint:   "send its cwd",
		})
	}
	if movedTo, err = g.world.Paths.Canonical(last); err != nil {
		movedTo = ""
	}
	return folder, movedTo, nil
}
