//go:build !portable && (amd64 || arm64)

package supervise

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// tree is what processes belong to. Its fields are guarded by Supervisor.mu.
type tree struct {
	kind  kind
	calls []Call // of a tree of kind command; nil: not known
	shell int    // the process that Codex has started for the calls; 0: not known
	// becomes reports that this process has a text of Codex, and becomes the shell with the line of a call.
	becomes bool
}

type kind int

const (
	codex   kind = iota // Codex itself, and the program that starts it
	own                 // what Codex starts for itself: servers, hooks, git
	sandbox             // a sandbox of Codex, until the command in it starts
	command             // what a call runs
)

// processes has the trees of the processes that have started a program. Safe for concurrent use.
type processes struct {
	members  members
	mu       sync.Mutex
	known    map[int]processEntry
	limit    int           // entries at which those of dead processes are removed
	sessions map[int]*tree // those that Codex has begun for its calls, by the id of the session
	begun    []int         // the sessions, the latest last
	// consented reports that there was a consent.
	consented bool
}

type processEntry struct {
	began uint64 // a process id may be reused
	tree  *tree
	was   []fileID // the programs that it was before others
	// consents are those to a program of the process, for all that it starts.
	consents []string
}

// fileID identifies the file of a program that runs; zero: not known.
type fileID struct{ device, inode uint64 }

// fileOf returns the file of the program that a process runs.
func fileOf(pid int) fileID {
	var info unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(pid)+"/exe", &info); err != nil {
		return fileID{}
	}
	return fileID{info.Dev, info.Ino}
}

// maxFormer is how many former programs of a process are kept.
const maxFormer = 16

// minEntries is the number of entries below which none are removed.
const minEntries = 1024

// set sets the tree of a process that is about to run another program.
func (p *processes) set(m member, t *tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known, p.limit = make(map[int]processEntry), minEntries
	}
	entry := processEntry{began: m.began, tree: t}
	// Before its first program, a process is a copy of another one.
	if former, ok := p.known[m.pid]; ok && former.began == m.began {
		entry.was, entry.consents = former.was, former.consents
		if file := fileOf(m.pid); !slices.Contains(entry.was, file) && len(entry.was) < maxFormer {
			entry.was = append(slices.Clip(entry.was), file) // others read the former list
		}
	}
	p.known[m.pid] = entry
	if len(p.known) < p.limit {
		return
	}
	for pid, one := range p.known {
		if now, ok := memberOf(pid); !ok || now.pid != pid || now.began != one.began {
			delete(p.known, pid)
		}
	}
	p.limit = max(minEntries, 2*len(p.known))
}

// consent sets a consent for all that a known process starts from now on. It does nothing if the process has children,
// which would have it, too.
func (p *processes) consent(pid int, name string) {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil || len(children) > 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if one, ok := p.known[pid]; ok && !slices.Contains(one.consents, name) {
		one.consents = append(slices.Clip(one.consents), name)
		p.known[pid], p.consented = one, true
	}
}

// consentsOf returns the consents of a process and of its ancestors.
func (p *processes) consentsOf(m member) (names []string) {
	p.mu.Lock()
	some := p.consented
	p.mu.Unlock()
	for at, ok := m, some; ok && at.pid > 1; at, ok = p.members.of(at.parent) {
		if one, known := p.get(at.pid); known && one.began == at.began {
			names = append(names, one.consents...)
		}
	}
	return names
}

// move moves a known process to another tree.
func (p *processes) move(pid int, to *tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one, ok := p.known[pid]; ok {
		one.tree = to
		p.known[pid] = one
	}
}

func (p *processes) get(pid int) (processEntry, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, ok := p.known[pid]
	return one, ok
}

// maxAncestors bounds the way to a known process.
const maxAncestors = 1 << 12

// maxSessions is how many sessions are known.
const maxSessions = 4096

// begin sets the tree of the session that a process leads. The id of a session is not reused while a process is in
// it, and no process can enter one that it was not born in. So it tells the call of an orphan.
func (p *processes) begin(session int, t *tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions == nil {
		p.sessions = make(map[int]*tree)
	}
	if len(p.begun) == maxSessions {
		delete(p.sessions, p.begun[0])
		p.begun = p.begun[1:]
	}
	p.sessions[session] = t
	p.begun = append(p.begun, session)
}

// orphan returns the tree of a process by its session; nil if that is not known.
func (p *processes) orphan(session int) *tree {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sessions[session]
}

// place is where a process is among the known ones: itself, or its nearest known ancestor. pid is 0 for an orphan that is
// known by its session. The zero place is that of a process of which none is known.
type place struct {
	tree *tree
	pid  int
	was  []fileID // the programs that the process pid was before others
}

// find returns the place of a process.
func (p *processes) find(m member) place {
	at := m
	for range maxAncestors {
		if one, ok := p.get(at.pid); ok && one.began == at.began {
			return place{one.tree, at.pid, one.was}
		}
		if at.parent <= 1 {
			break
		}
		var ok bool
		if at, ok = p.members.of(at.parent); !ok {
			break
		}
	}
	session, err := unix.Getsid(m.pid)
	if err != nil {
		return place{}
	}
	return place{tree: p.orphan(session)}
}

// isChild reports whether a process is that of its place or a child of it, and not in name alone: a process can make a
// child of its own parent (CLONE_PARENT), and orphans get another parent. A child that was not reported before runs a
// program that its ancestor runs or was.
func (at place) isChild(m member) bool {
	if at.pid == 0 || at.pid == m.pid {
		return true
	}
	file := fileOf(m.pid)
	return file == fileOf(at.pid) || file != fileID{} && slices.Contains(at.was, file)
}
