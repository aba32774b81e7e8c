package guard

import (
	"context"
	"slices"

	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/rollout"
	"codex-bridge/rpc"
)

const (
	loadedPage = 1000 // threads in one answer
	maxLoaded  = 100  // answers
)

// loaded returns the threads that Codex has in memory.
//
// Measured with Codex 0.169: of such a thread it ignores the config of a resume, and its answer does not
// tell the features and the trust that the thread was opened with.
func (g *Guard) loaded(ctx context.Context) ([]string, *rpc.Error) {
	var all []string
	params := map[string]any{"limit": loadedPage}
	for range maxLoaded {
		result, err := g.peer.Call(ctx, "thread/loaded/list", params)
		if err != nil {
			return nil, rpc.Errorf(rpc.CodeUpstream, "thread/resume: the list of threads that Codex has loaded can't be read, so that the thread is not opened: %v", err)
		}
		for id := range result.Get("data").Elements() {
			text, _ := id.Text()
			all = append(all, text)
		}
		next, more := result.Get("nextCursor").Text()
		if !more {
			return all, nil
		}
		params["cursor"] = next
	}
	return nil, rpc.Errorf(rpc.CodeUpstream, "thread/resume: Codex has loaded too many threads; start it again")
}

// openedBefore is the refusal of a thread that Codex loaded while no policy was enforced.
func openedBefore(method string) *rpc.Error {
	return policy.Refused(rpc.CodeNotVerified, policy.Refusal{
		Method: method, Rule: "policy.mode", Mend: "start codex again, and open the thread then",
		Reason: "the thread was opened before the policy was enforced, and Codex still has it in memory with the configuration of that time",
	})
}

// openedIn returns the canonical folder in which a thread was opened, if a turn has moved it since; "" if none
// has, if that is not known, or if Codex has loaded the thread: it then ignores the cwd of a resume,
// unless the client has unsubscribed from the thread.
func (g *Guard) openedIn(ctx context.Context, id string) string {
	opened, last := rollout.Folders(g.world.CodexHome, id)
	if opened == "" || opened == last {
		return ""
	}
	folder, err := g.world.Paths.Canonical(opened)
	if err != nil {
		return ""
	}
	if _, unsubscribed := g.threads.profile(id); unsubscribed {
		return folder
	}
	if loaded, err := g.loaded(ctx); err != nil || slices.Contains(loaded, id) {
		return ""
	}
	return folder
}
