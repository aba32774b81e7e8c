package host

import (
	"encoding/json"
	"fmt"
	"strings"

	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/relay/tools"
)

// StaleTools compares the tools that the thread of a rollout file was started with to the
// current ones. stale are the tools that differ. theirs are the client's tools for a new
// thread in its place, or nil. It may wait some seconds for starting servers.
//
// The file does not say which tools are the client's. After the client has started a thread
// here, they are those it sent then. Before that, they are all tools that the host does not
// have, so a removed host tool is not noticed.
func (f *Feature) StaleTools(path string) (stale []string, theirs json.RawMessage, err error) {
	if !f.addsTools() {
		return nil, nil, nil
	}
	has, err := rollout.DynamicTools(f.options.CodexHome, path)
	if err != nil {
		return nil, nil, fmt.Errorf("the thread's tools can't be read: %w", err)
	}
	theirs, sure := f.threads.clientToolList()
	_, all, host, err := f.merge(theirs)
	if err != nil {
		return nil, nil, err
	}
	if stale, err = tools.ChangedTools(has, all, sure); err != nil || sure {
		return stale, theirs, err
	}
	theirs, err = tools.Without(has, func(namespace, name string) bool {
		return host.Reserves(namespace, name) || f.registered.current().Reserves(namespace, name)
	})
	f.threads.setSubstituted(theirs)
	return stale, theirs, err
}

// threadWarning is Codex's notification with a warning about a thread.
const threadWarning = "warning"

// warnIfStale warns the client if a resumed thread has other tools than the current ones.
// It runs in its own goroutine, because it may wait.
func (f *Feature) warnIfStale(id, path string) {
	stale, _, err := f.StaleTools(path)
	f.threads.setChecked(id, f.catalogue.Last().Fingerprint())
	if err != nil {
		f.options.Log.Warn("the tools of a thread can't be checked", "thread", id, "error", err)
		return
	}
	if len(stale) > 0 {
		f.options.Log.Info("a thread keeps the tools that it was started with", "thread", id, "tools", strings.Join(stale, " "))
		f.Warn(id, "This thread keeps the tools that it was started with. These have changed since: "+
			strings.Join(stale, ", ")+". Start a new thread to have them.")
	}
}

// Warn sends a warning unless the client has opted out of warnings.
func (f *Feature) Warn(thread, message string) {
	if !f.peer.OptedOut(threadWarning) {
		f.peer.Notify(threadWarning, map[string]any{"threadId": thread, "message": message})
	}
}
