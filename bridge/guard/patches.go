package guard

import (
	"context"
	"slices"
	"sync"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// patches are the paths of file changes under way, by item: the question about a
// patch does not name them (measured), the item that was started before does.
type patches struct {
	mu    sync.Mutex
	paths map[patch][]string
	order []patch // the oldest first
}

// patch is a file change. The model of a subagent may use an id that its parent's uses.
type patch struct{ thread, item string }

// mostPatches bounds what is kept: each thread has one or a few under way.
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
	p.paths[one] = append(slices.Clip(p.paths[one]), paths...)
	if len(p.order) > maxPatches {
		delete(p.paths, p.order[0])
		p.order = p.order[1:]
	}
}

// forget forgets a patch that has ended.
func (p *patches) forget(one patch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.paths[one]; ok {
		delete(p.paths, one)
		p.order = slices.DeleteFunc(p.order, func(o patch) bool { return o == one })
	}
}

func (p *patches) get(one patch) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paths[one]
}

// Files returns the paths that the patch changes that a question is about; nil for another question, or if Codex has not
// named them.
func (g *Guard) Files(params rpc.Value) []string {
	thread, _ := params.Get("threadId").Text()
	item, _ := params.Get("itemId").Text()
	return g.patches.get(patch{thread, item})
}

// judgesFiles tells whether questions about files are judged by their paths.
func (g *Guard) judgesFiles() bool { return g.isActive() }

// isPatch: one in fifty of what codex says is the start of an item, and only those of
// patches are of interest. One that was missed would leave a patch of which nothing is
// known, and that is declined.
var isPatch = bridge.MatchItemType("fileChange")

// itemStarted takes note of the files that a patch changes.
func (g *Guard) itemStarted(_ context.Context, said *bridge.ServerMessage) {
	params := said.Root().Get("params")
	item := params.Get("item")
	if !item.Get("type").Is("fileChange") {
		return
	}
	thread, _ := params.Get("threadId").Text()
	id, _ := item.Get("id").Text()
	g.patches.add(patch{thread, id}, pathsOf(item.Get("changes")))
}

// pathsOf are the paths of the changes: of a file, and of where it is moved to.
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
