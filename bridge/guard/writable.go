package guard

import (
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// writableFolders records the folders that Codex has let commands write since the bridge started,
// by thread. None is removed while Codex has the thread, and none from the list of all: a command
// can go on in the background after its turn, and replace a folder inside by a link.
//
// It has no lock, so that callers may hold one: the lists are replaced, never changed.
type writableFolders struct {
	byThread sync.Map                 // the id of a thread → *[]string, canonical
	all      atomic.Pointer[[]string] // canonical, each once
}

// maxWritable bounds the folders in the list of all.
const maxWritable = 4096

// add records canonical folders of a thread; "" is a thread whose id is not known yet.
func (w *writableFolders) add(thread string, folders []string) {
	for !w.addIf(w.all.Load(), thread, folders) {
	}
}

// maxReserveTries bounds how often judge is called for one message.
const maxReserveTries = 100

// reserve records the folders that a message makes writable for a thread, before the message takes
// effect. judge gets the folders of all threads, and returns the thread and its folders. It is
// called again if other folders were recorded in the meantime. The result is false if that went on
// for maxReserveTries calls; nothing is recorded then.
func (w *writableFolders) reserve(judge func(all []string) (thread string, folders []string)) bool {
	for range maxReserveTries {
		seen := w.all.Load()
		thread, folders := judge(listOf(seen))
		if w.addIf(seen, thread, folders) {
			return true
		}
	}
	return false
}

// addIf records folders if seen is still the list of all threads' folders.
func (w *writableFolders) addIf(seen *[]string, thread string, folders []string) bool {
	if len(folders) == 0 {
		return true
	}
	if !w.all.CompareAndSwap(seen, withOuter(seen, folders)) {
		return false
	}
	w.addOwn(thread, folders)
	return true
}

// addOwn records the folders of a thread alone.
func (w *writableFolders) addOwn(thread string, folders []string) {
	if thread == "" {
		return
	}
	for {
		had, _ := w.byThread.LoadOrStore(thread, new([]string))
		own := had.(*[]string)
		if w.byThread.CompareAndSwap(thread, own, extended(own, missing(own, folders))) {
			return
		}
	}
}

// foldersChangedError is the error for a message for which reserve returned false.
func foldersChangedError(method string) *rpc.Error {
	return rpc.Errorf(rpc.CodeOverloaded, "%s: other threads keep changing what commands can write; send it again", clip(method))
}

// of returns the folders of a thread.
func (w *writableFolders) of(thread string) []string {
	if own, has := w.byThread.Load(thread); has {
		return *own.(*[]string)
	}
	return nil
}

// ofAll returns the folders of all threads.
func (w *writableFolders) ofAll() []string { return listOf(w.all.Load()) }

// remove forgets which folders were a thread's: Codex has ended its commands.
func (w *writableFolders) remove(thread string) { w.byThread.Delete(thread) }

// removeIf is remove, unless the thread has got other folders than own.
func (w *writableFolders) removeIf(thread string, own *[]string) {
	if own != nil {
		w.byThread.CompareAndDelete(thread, own)
	}
}

// threads returns the folders of each thread.
func (w *writableFolders) threads() map[string]*[]string {
	all := make(map[string]*[]string)
	w.byThread.Range(func(thread, own any) bool {
		all[thread.(string)] = own.(*[]string)
		return true
	})
	return all
}

func listOf(list *[]string) []string {
	if list == nil {
		return nil
	}
	return *list
}

// missing returns the folders that are not in a list, each once.
func missing(list *[]string, folders []string) (out []string) {
	fresh := setOf(folders)
	for _, folder := range listOf(list) {
		delete(fresh, folder)
	}
	for _, folder := range folders {
		if fresh[folder] {
			delete(fresh, folder)
			out = append(out, folder)
		}
	}
	return out
}

// extended returns a list with folders added, or the same list if there are none.
func extended(list *[]string, folders []string) *[]string {
	if len(folders) == 0 {
		return list
	}
	all := slices.Concat(listOf(list), folders)
	return &all
}

// withOuter returns the list of all threads' folders with those folders added that are in no other
// one of them.
//
// Under the bridge's profile Codex lists folders inside the thread's roots, too. The list of all
// has no such folder, or no other thread could have one of these roots.
func withOuter(list *[]string, folders []string) *[]string {
	set := setOf(folders)
	outer := slices.DeleteFunc(slices.Clone(folders), func(folder string) bool { return isInside(set, folder) })
	added := missing(list, outer)
	if room := max(maxWritable-len(listOf(list)), 0); len(added) > room {
		// Every folder is inside the root folder, and so none is made writable any more.
		added = missing(list, append(added[:room], string(filepath.Separator)))
	}
	return extended(list, added)
}

// isInside reports whether commands that can write one of the folders of a set can write another
// folder.
func isInside(set map[string]bool, folder string) bool {
	for dir := folder; filepath.Dir(dir) != dir; {
		dir = filepath.Dir(dir)
		if set[dir] && policy.WritableBelow(dir, folder) {
			return true
		}
	}
	return false
}

func setOf(folders []string) map[string]bool {
	set := make(map[string]bool, len(folders))
	for _, folder := range folders {
		set[folder] = true
	}
	return set
}
