package guard

import (
	"path/filepath"
	"slices"
	"sync"

	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// writable records the folders that Codex has let commands write since the bridge started, by thread. None
// is removed while Codex has the thread, and none from the list of all: a command can go on in the
// background after its turn, and replace a folder inside by a link.
type writable struct {
	mu       sync.Mutex
	byThread map[string][]string
	all      []string // canonical, each once; replaced, never changed, so that anyone may read it
}

// maxWritable bounds the folders in the list of all.
const maxWritable = 4096

// add records canonical folders of a thread; "" is a thread whose id is not known yet.
func (w *writable) add(thread string, folders []string) {
	if len(folders) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(thread, folders)
}

// maxJudged bounds how often judge is called for one message.
const maxJudged = 100

// reserve records the folders that a message makes writable for a thread, before the message takes effect. judge gets
// the folders of all threads, and returns the thread and its folders. It is called again if other folders were
// recorded in the meantime. The result is false if that went on for maxJudged calls; nothing is recorded then.
func (w *writable) reserve(judge func(all []string) (thread string, folders []string)) bool {
	for range maxJudged {
		all := w.ofAll()
		thread, folders := judge(all)
		if w.addIf(all, thread, folders) {
			return true
		}
	}
	return false
}

// addIf records folders if all is still the list of all threads' folders.
func (w *writable) addIf(all []string, thread string, folders []string) bool {
	if len(folders) == 0 {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) != len(all) { // it only grows
		return false
	}
	w.addLocked(thread, folders)
	return true
}

// errFolders is the refusal of a message for which reserve returned false.
func errFolders(method string) *rpc.Error {
	return rpc.Errorf(rpc.CodeOverloaded, "%s: other threads keep changing what commands can write; send it again", clip(method))
}

func (w *writable) addLocked(thread string, folders []string) {
	if w.byThread == nil {
		w.byThread = make(map[string][]string)
	}
	for _, folder := range folders {
		one := folder
		if len(w.all) >= maxWritable {
			one = string(filepath.Separator) // every folder is inside it, and so none is made writable any more
		}
		// Under the bridge's profile Codex lists folders inside the thread's roots, too. The list of all has no such
		// folder, or no other thread could have one of these roots.
		inner := slices.ContainsFunc(folders, func(outer string) bool { return outer != folder && policy.WritableBelow(outer, folder) })
		if !inner && !slices.Contains(w.all, one) {
			w.all = append(slices.Clip(w.all), one)
		}
		if thread != "" && !slices.Contains(w.byThread[thread], folder) {
			w.byThread[thread] = append(slices.Clip(w.byThread[thread]), folder)
		}
	}
}

// of returns the folders of a thread.
func (w *writable) of(thread string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byThread[thread]
}

// ofAll returns the folders of all threads.
func (w *writable) ofAll() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all
}

// unloaded forgets which folders were a thread's: Codex has ended its commands.
func (w *writable) unloaded(thread string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byThread, thread)
}
