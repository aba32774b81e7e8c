package guard

import (
	"path/filepath"
	"slices"
	"sync"

	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// writableFolders records the folders that Codex has let commands write since the bridge started.
// It keeps a thread's folders while Codex has the thread, and all folders in the common list: a
// command can continue after its turn, and replace a folder inside by a link. Safe for concurrent
// use.
type writableFolders struct {
	mu       sync.Mutex
	byThread map[string][]string
	all      []string // canonical, without duplicates; replaced, never changed
}

// maxWritable bounds the folders of the common list.
const maxWritable = 4096

// add records canonical folders of a thread; the id "" stands for a thread whose id is not known
// yet.
func (w *writableFolders) add(thread string, folders []string) {
	if len(folders) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(thread, folders)
}

// maxReserveTries bounds the calls of judge for one message.
const maxReserveTries = 100

// reserve records the folders that a message makes writable for a thread, before the message takes
// effect. judge gets the folders of all threads, and returns the thread and its new folders.
// reserve calls it again if other folders were recorded in the meantime. It returns false, and
// records nothing, after maxReserveTries calls.
func (w *writableFolders) reserve(judge func(all []string) (thread string, folders []string)) bool {
	for range maxReserveTries {
		all := w.ofAll()
		thread, folders := judge(all)
		if w.addIf(all, thread, folders) {
			return true
		}
	}
	return false
}

// addIf records folders if all is still the common list.
func (w *writableFolders) addIf(all []string, thread string, folders []string) bool {
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

// foldersChangedError returns the error for a message for which reserve returned false.
func foldersChangedError(method string) *rpc.Error {
	return rpc.Errorf(rpc.CodeOverloaded, "%s: other threads keep changing the folders that commands can write; send it again", clip(method))
}

func (w *writableFolders) addLocked(thread string, folders []string) {
	if w.byThread == nil {
		w.byThread = make(map[string][]string)
	}
	for _, folder := range folders {
		one := folder
		if len(w.all) >= maxWritable {
			one = string(filepath.Separator) // contains every folder, so the policy makes no other folder writable
		}
		// With the bridge's profile, Codex also lists folders inside the thread's roots. The common
		// list omits them; otherwise no other thread could have one of these roots.
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
func (w *writableFolders) of(thread string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byThread[thread]
}

// ofAll returns the folders of all threads. The caller must not change the slice.
func (w *writableFolders) ofAll() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all
}

// remove deletes the list of a thread whose commands Codex has ended. The common list stays.
func (w *writableFolders) remove(thread string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byThread, thread)
}
