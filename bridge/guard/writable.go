package guard

import (
	"path/filepath"
	"slices"
	"sync/atomic"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// writableFolders are the folders that Codex has let commands of any thread write since the bridge
// started. None is removed: a command can go on in the background after its turn, and replace a folder
// inside by a link.
//
// It has no lock, so that callers may hold one: the list is replaced, never changed.
type writableFolders struct {
	all atomic.Pointer[[]string] // canonical, each once
}

// maxWritable bounds the folders in the list of all.
const maxWritable = 4096

// add records canonical folders.
func (w *writableFolders) add(folders []string) {
	for !w.addIf(w.all.Load(), folders) {
	}
}

// maxReserveTries bounds how often judge is called for one message.
const maxReserveTries = 100

// reserve records the folders that a message makes writable for a thread, before the message takes
// effect. judge gets the folders of all threads, and returns those of the message. It is called again
// if other folders were recorded in the meantime. The result is false if that went on for
// maxReserveTries calls; nothing is recorded then.
func (w *writableFolders) reserve(judge func(all []string) (folders []string)) bool {
	for range maxReserveTries {
		seen := w.all.Load()
		if w.addIf(seen, judge(listOf(seen))) {
			return true
		}
	}
	return false
}

// addIf records folders if seen is still the list.
func (w *writableFolders) addIf(seen *[]string, folders []string) bool {
	return len(folders) == 0 || w.all.CompareAndSwap(seen, withOuter(seen, folders))
}

// ofAll returns the folders of all threads.
func (w *writableFolders) ofAll() []string { return listOf(w.all.Load()) }

// foldersChangedError is the error for a message for which reserve returned false.
func foldersChangedError(method string) *rpc.Error {
	return rpc.Errorf(rpc.CodeOverloaded, "%s: other threads keep changing what commands can write; send it again", display.Clip(method))
}

func listOf(list *[]string) []string {
	if list == nil {
		return nil
	}
	return *list
}

// missing returns the folders that are not in a list, each once.
func missing(list, folders []string) (out []string) {
	fresh := setOf(folders)
	for _, folder := range list {
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

// withOuter returns the list of all threads' folders with those folders added that are in no other
// one of them.
//
// Under the bridge's profile Codex lists folders inside the thread's roots, too. The list of all
// has no such folder, or no other thread could have one of these roots.
func withOuter(list *[]string, folders []string) *[]string {
	set := setOf(folders)
	outer := slices.DeleteFunc(slices.Clone(folders), func(folder string) bool { return isInside(set, folder) })
	had := listOf(list)
	added := missing(had, outer)
	if room := max(maxWritable-len(had), 0); len(added) > room {
		// Every folder is inside the root folder, and so none is made writable any more.
		added = missing(had, append(added[:room], string(filepath.Separator)))
	}
	if len(added) == 0 {
		return list
	}
	all := slices.Concat(had, added)
	return &all
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
