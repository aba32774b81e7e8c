package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/rpc"
)

// storedSettings is what Codex has recorded of a thread that is opened again.
type storedSettings struct {
	settings *rpc.Doc // as rollout.StoredSettings returns them; nil: Codex takes its defaults
	unknown  bool     // Codex knows no such thread
	problem  string   // why the settings are not known; "" if they are
}

var errMemory = errors.New("Codex has the thread in memory, and has not recorded its settings")

// storedReads has the settings that were read for one message, by path: a thread's files may have a gigabyte.
type storedReads map[string]storedRead

type storedRead struct {
	settings *rpc.Doc
	err      error
}

type storedReadsKey struct{}

// withStoredReads returns a context with which storedSettings reads each file once. It is for one goroutine.
func withStoredReads(ctx context.Context) context.Context {
	return context.WithValue(ctx, storedReadsKey{}, make(storedReads))
}

// storedSettings returns what rollout.StoredSettings does. It waits for the disk until ctx ends.
func (g *Guard) storedSettings(ctx context.Context, path string) (*rpc.Doc, error) {
	reads, _ := ctx.Value(storedReadsKey{}).(storedReads)
	if read, ok := reads[path]; ok {
		return read.settings, read.err
	}
	home := g.world.CodexHome
	settings, err := readFromDisk(ctx, func() (*rpc.Doc, error) { return rollout.StoredSettings(ctx, home, path) })
	if reads != nil {
		reads[path] = storedRead{settings, err}
	}
	return settings, err
}

// readFromDisk returns what read does, or an error when ctx ends first. Then read goes on until the disk answers.
func readFromDisk[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// readSettings reads the file that Codex names for a thread. It returns an error if Codex can't be asked.
//
// Measured with Codex 0.169 and 0.171: after thread/revert a thread has several files, and thread/read
// names the one that counts. A thread that was only named has a file without settings: in memory it has
// its own, and a cold resume takes the defaults.
func (g *Guard) readSettings(ctx context.Context, id string) (stored storedSettings, err error) {
	result, err := g.peer.Call(ctx, "thread/read", map[string]any{"threadId": id, "includeTurns": false})
	var refused *rpc.Error
	switch {
	case errors.As(err, &refused) && refused.Code == rpc.CodeUpstream:
		return storedSettings{unknown: true}, nil // Codex will refuse the request, too
	case err != nil:
		return stored, err
	}
	path, hasFile := result.Get("thread").Get("path").Text()
	if !hasFile {
		return stored, nil // a thread in memory only, which Codex does not fork
	}
	stored.settings, err = g.storedSettings(ctx, path)
	if errors.Is(err, fs.ErrNotExist) && !rollout.HasFile(g.world.CodexHome, id) {
		err = nil // Codex writes it with the first turn
	}
	if err == nil && stored.settings == nil {
		var loaded []string
		if loaded, err = g.readLoaded(ctx); err == nil && slices.Contains(loaded, id) {
			err = errMemory
		}
	}
	if err != nil {
		stored.problem = err.Error()
	}
	return stored, nil
}

// readStored sets what Codex would restore for the thread of a resume or fork: its sandbox, its
// permissions and its approval policy. It returns false if Codex can't be asked.
func (g *Guard) readStored(ctx context.Context, call *bridge.ClientMessage, state *policy.State) bool {
	stored, err := g.readSettings(ctx, textOf(call, "threadId"))
	if err != nil {
		g.log.Error("the settings of a thread can't be read; the thread is not opened", "error", err)
		return false
	}
	if state.UnknownThread, state.StoredProblem = state.UnknownThread || stored.unknown, stored.problem; stored.unknown || stored.problem != "" {
		return true
	}
	state.Stored, state.StoredSandbox, state.StoredApproval = new(policy.StoredProfile), new(policy.SandboxSettings), json.RawMessage("null")
	if stored.settings == nil {
		return true
	}
	settings := stored.settings.Root()
	sandbox := policy.ParseStoredSandbox(settings)
	state.Stored, state.StoredSandbox = policy.ParseStoredProfile(settings), &sandbox
	if v := settings.Get("approvalPolicy"); v.Exists() {
		state.StoredApproval = bytes.Clone(v.Raw())
	}
	return true
}

// readFolder sets the current folder of the thread of a resume or fork in state, from Codex. It
// returns false if Codex can't be asked. Measured: thread/read returns the folder of unloaded
// threads, too, and a resume uses that folder.
func (g *Guard) readFolder(ctx context.Context, call *bridge.ClientMessage, state *policy.State) bool {
	result, err := g.peer.Call(ctx, "thread/read", map[string]any{"threadId": textOf(call, "threadId"), "includeTurns": false})
	var refused *rpc.Error
	switch {
	case errors.As(err, &refused) && refused.Code == rpc.CodeUpstream:
		// Codex knows no such thread and will refuse the request.
		state.UnknownThread = true
		return true
	case err != nil:
		g.log.Error("the folder of a thread can't be read; the thread is not opened", "error", err)
		return false
	}
	text, _ := result.Get("thread").Get("cwd").Text()
	folder, err := state.Paths.Canonical(text)
	if err != nil {
		g.log.Error("the folder of a thread can't be resolved; the thread is not opened", "cwd", text, "error", err)
		return false
	}
	state.ThreadFolder = folder
	return true
}
