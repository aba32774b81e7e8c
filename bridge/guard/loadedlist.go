package guard

import (
	"context"
	"errors"
	"fmt"

	"codex-bridge.example/rpc"
)

// loadedPageSize and maxLoadedPages bound the list of threads that readLoaded reads.
const (
	loadedPageSize = 1000 // threads in one result
	maxLoadedPages = 100
)

// listLoaded is readLoaded for a request that opens a thread, which an error refuses.
func (g *Guard) listLoaded(ctx context.Context) ([]string, *rpc.Error) {
	all, err := g.readLoaded(ctx)
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeUpstream, "thread/resume: %v, so the thread is not opened", err)
	}
	return all, nil
}

// readLoaded returns the ids of the threads that Codex has in memory, not nil.
//
// Measured with Codex 0.169: Codex ignores the config of a resume of such a thread, and its
// response does not have the features and the trust with which the thread was opened.
func (g *Guard) readLoaded(ctx context.Context) ([]string, error) {
	all := []string{}
	params := map[string]any{"limit": loadedPageSize}
	for range maxLoadedPages {
		result, err := g.peer.Call(ctx, "thread/loaded/list", params)
		if err != nil {
			return nil, fmt.Errorf("the list of threads that Codex has loaded can't be read: %w", err)
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
	return nil, errors.New("codex has loaded more threads than the bridge reads (restart it)")
}
