package host

import (
	"encoding/json"
	"fmt"
	"strings"

	"codex-bridge/bridge/rollout"
	"codex-bridge/relay/tools"
)

// Kept holds what the thread of a rollout file was started with against what it would be
// started with now: stale are the tools in which the two differ, theirs the client's for a
// thread in its place, nil where it has none. It may wait some seconds for servers that are
// starting. Which of a thread's tools are the client's nobody has written down: once
// the client has started a thread here, those it named are; before, all that the host
// has not, so that one of the host's that is gone is not missed then.
func (f *Feature) Kept(path string) (stale []string, theirs json.RawMessage, err error) {
	if !f.offers() {
		return nil, nil, nil
	}
	has, err := rollout.DynamicTools(f.o.CodexHome, path)
	if err != nil {
		return nil, nil, fmt.Errorf("what tools the thread was started with: %w", err)
	}
	theirs, sure := f.threads.sent()
	_, all, host, err := f.merged(theirs)
	if err != nil {
		return nil, nil, err
	}
	if stale, err = tools.ChangedTools(has, all, sure); err != nil || sure {
		return stale, theirs, err
	}
	theirs, err = tools.Without(has, func(namespace, name string) bool {
		return host.Reserves(namespace, name) || f.registered.offer().Reserves(namespace, name)
	})
	f.threads.lends(theirs)
	return stale, theirs, err
}

// caution is the notification by which Codex itself warns of a thread.
const caution = "warning"

// check has the client hear where a thread that was resumed goes on with other tools than
// there are now. It runs apart from codex's messages, since it may wait.
func (f *Feature) check(id, path string) {
	stale, _, err := f.Kept(path)
	f.threads.checked(id, f.catalogue.Last().Fingerprint())
	if err != nil {
		f.o.Log.Warn("it is not known whether a thread has the current tools", "thread", id, "error", err)
		return
	}
	if len(stale) > 0 {
		f.o.Log.Info("a thread goes on with the tools that it was started with", "thread", id, "tools", strings.Join(stale, " "))
		f.Warn(id, "This thread goes on with the tools that it was started with. Since then there were changes to: "+
			strings.Join(stale, ", ")+". Start a new thread to have them.")
	}
}

// Warn warns a client that wants to hear warnings.
func (f *Feature) Warn(thread, message string) {
	if !f.peer.OptedOut(caution) {
		f.peer.Notify(caution, map[string]any{"threadId": thread, "message": message})
	}
}
