package guard

import (
	"context"
	"slices"
	"sync"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// patches has the paths of pending file changes, by item. Measured: Codex's question about a patch
// omits the paths; the item that started before has them. Safe for concurrent use.
type patches struct {
	mu    sync.Mutex
	paths map[patch][]string
	order []patch // the oldest first
}

// patch identifies a file change. The model chooses the id of the item.
type patch struct{ thread, turn, item string }

// maxPatches bounds the stored changes. Each thread has few pending ones.
const maxPatches = 256

// add records the paths of a patch. A second patch with the id of another keeps the paths of both.
func (p *patches) add(one patch, paths []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paths == nil {
		p.paths = make(map[patch][]string)
	}
	if _, ok := p.paths[one]; !ok {
		p.order = append(p.order, one)
	}
	for _, path := range paths { // each client of Codex reports the same patch
		if !slices.Contains(p.paths[one], path) {
			p.paths[one] = append(slices.Clip(p.paths[one]), path)
		}
	}
	if len(p.order) > maxPatches {
		delete(p.paths, p.order[0])
		p.order = p.order[1:]
	}
}

// forget forgets the changes of a thread that Codex has unloaded.
func (p *patches) forget(thread string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.order = slices.DeleteFunc(p.order, func(one patch) bool {
		if one.thread != thread {
			return false
		}
		delete(p.paths, one)
		return true
	})
}

func (p *patches) get(one patch) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paths[one]
}

// Files returns the paths of the patch that a question is about; nil for another question, or if
// Codex has not named them.
func (g *Guard) Files(params rpc.Value) []string {
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	item, _ := params.Get("itemId").Text()
	return g.patches.get(patch{thread, turn, item})
}

// judgesFiles tells whether questions about files are judged by their paths.
func (g *Guard) judgesFiles() bool { return g.isActive() }

// isPatch matches items that are patches. If it missed one, the question about the patch would be
// declined.
var isPatch = bridge.MatchItemType("fileChange")

// itemStarted stores the files that a patch changes.
func (g *Guard) itemStarted(_ context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	item := params.Get("item")
	if !item.Get("type").Is("fileChange") {
		return
	}
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	id, _ := item.Get("id").Text()
	g.patches.add(patch{thread, turn, id}, pathsOf(item.Get("changes")))
}

// pathsOf returns the paths of changes, including the new paths of moved files.
func pathsOf(changes rpc.Value) []string {
	var paths []string
	for change := range changes.Elements() {
		path, _ := change.Get("path").Text()
		paths = append(paths, path)
		if to, ok := change.Get("kind").Get("move_path").Text(); ok {
			paths = append(paths, to)
		}
	}
	return paths
}
