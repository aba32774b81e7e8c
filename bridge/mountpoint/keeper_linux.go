package mountpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// Keeper creates the folders of threads, and removes those that it has created. Bridges that share a
// state folder share them, and remove those of a bridge that was killed. Safe for concurrent use; a
// nil Keeper does nothing.
//
// One goroutine at a time changes the folders of a root, and holds no lock while it waits for the disk.
type Keeper struct {
	state string
	log   *slog.Logger
	stay  time.Duration // of folders after Release

	mu     sync.Mutex
	held   map[turn][]Folder
	ending uint64           // the last number of a turn that has ended
	roots  map[string]*root // by their keys
	ended  bool             // Codex has ended
	closed bool
}

// root has the folders of one Folder.Root.
type root struct {
	key     string    // rootKey of the path
	folders folderSet // only the goroutine of work uses it

	// Keeper.mu protects these.
	next    *pass // wanted and not begun; nil: none
	working bool  // a goroutine is in work
	retry   *time.Timer
	delay   time.Duration // until the next try to remove them
}

// pass is one time in which the folders of a root are made what the threads hold.
type pass struct {
	done chan struct{}

	// Set before done is closed.
	blocked []string // files that are newly in place of folders above held ones
	unheld  bool     // folders are left that no thread holds
}

const (
	firstRetry   = 100 * time.Millisecond
	stayAfter    = time.Second // how long folders stay after Release: Codex may be starting a command
	lastRetry    = 10 * time.Second
	holdTimeout  = 5 * time.Second // how long Hold waits for the disk
	closeTimeout = 2 * time.Second // how long Close waits for commands that are being killed
)

// New returns a Keeper that records its folders in a private folder of the state. It begins to remove
// what an earlier bridge has left.
func New(state string, log *slog.Logger) *Keeper {
	k := &Keeper{state: state, log: log, stay: stayAfter, held: make(map[turn][]Folder), roots: make(map[string]*root)}
	left, _ := os.ReadDir(state)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, file := range left {
		if key := recordKey(file.Name()); key != "" && k.roots[key] == nil {
			r := k.rootLocked(key)
			r.folders.adopt = true
			k.wantLocked(r)
		}
	}
	return k
}

// rootKey returns the key of a root, which names its files in the state folder.
func rootKey(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16])
}

func (k *Keeper) rootLocked(key string) *root {
	r := k.roots[key]
	if r == nil {
		r = &root{key: key, folders: folderSet{records: records{folder: k.state, key: key}, log: k.log}}
		k.roots[key] = r
	}
	return r
}

// turn is a turn of a thread, for which folders are held.
type turn struct {
	thread, id string
	ending     uint64 // not 0: it has ended, and its folders are held a little longer
}

// Hold keeps the folders for a turn until Release, in addition to those that the turn has already. A folder
// that exists is not changed. Hold returns the files that are in place of folders above, each once as long as the
// root has folders: Codex can't run a command. It does not wait longer than holdTimeout for the disk.
func (k *Keeper) Hold(ctx context.Context, thread, id string, folders []Folder) (blocked []string) {
	if k == nil || len(folders) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, holdTimeout)
	defer cancel()
	for _, p := range k.hold(turn{thread: thread, id: id}, folders) {
		select {
		case <-p.done:
			blocked = append(blocked, k.takeBlocked(p)...)
		case <-ctx.Done():
			k.log.Warn("can't create the mount points of protected paths in time: the disk does not answer; Codex protects the paths by empty files, which git lists", "thread", thread)
			return blocked
		}
	}
	return blocked
}

// hold adds folders to those of a turn, and returns the passes that create them.
func (k *Keeper) hold(by turn, folders []Folder) (passes []*pass) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	for _, folder := range folders {
		if !slices.Contains(k.held[by], folder) {
			k.held[by] = append(k.held[by], folder)
		}
		if p := k.wantLocked(k.rootLocked(rootKey(folder.Root))); !slices.Contains(passes, p) {
			passes = append(passes, p)
		}
	}
	return passes
}

// takeBlocked returns the files that a pass has found to the first caller.
func (k *Keeper) takeBlocked(p *pass) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	blocked := p.blocked
	p.blocked = nil
	return blocked
}

// Release ends what Hold began for some turns of a thread, or without any for all, and returns at once. A moment later,
// a folder that no other turn or bridge holds is removed, unless it is no longer empty. While a command still has it
// as mount point, or may be about to, it stays.
func (k *Keeper) Release(thread string, ids ...string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	for by, folders := range k.held {
		if by.thread != thread || by.ending != 0 || len(ids) > 0 && !slices.Contains(ids, by.id) {
			continue
		}
		delete(k.held, by)
		k.ending++
		by.ending = k.ending
		k.held[by] = folders
		time.AfterFunc(k.stay, func() { k.letGo(by) })
	}
}

// letGo removes the hold of a turn that has ended, and the folders that no other turn holds.
func (k *Keeper) letGo(by turn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	folders := k.held[by]
	delete(k.held, by)
	for _, folder := range folders {
		r := k.rootLocked(rootKey(folder.Root))
		r.delay = 0
		k.wantLocked(r)
	}
}

// Close removes all folders. Call it after Codex has ended. The next bridge removes the
// others.
func (k *Keeper) Close() {
	if k == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for k.removeAll(ctx) && ctx.Err() == nil {
		time.Sleep(firstRetry / 5)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for _, r := range k.roots {
		if r.retry != nil {
			r.retry.Stop()
		}
		if !r.working {
			r.folders.records.close() // otherwise work closes them
		}
	}
}

// removeAll ends all holds, and reports whether folders are left.
func (k *Keeper) removeAll(ctx context.Context) (left bool) {
	var passes []*pass
	k.mu.Lock()
	clear(k.held)
	k.ended = true
	for _, r := range k.roots {
		passes = append(passes, k.wantLocked(r))
	}
	k.mu.Unlock()
	for _, p := range passes {
		select {
		case <-p.done:
			left = left || p.unheld
		case <-ctx.Done():
			return true
		}
	}
	return left
}

// wantLocked returns the next pass of a root, which begins after the caller's change.
func (k *Keeper) wantLocked(r *root) *pass {
	if r.next == nil {
		r.next = &pass{done: make(chan struct{})}
	}
	if !r.working {
		r.working = true
		go k.work(r)
	}
	return r.next
}

// work makes the wanted passes of a root.
func (k *Keeper) work(r *root) {
	for {
		p, held := k.begin(r)
		if p == nil {
			return
		}
		blocked, unheld := r.folders.apply(held)
		k.finish(r, p, blocked, unheld)
	}
}

// begin returns the next pass and the held folders; nil: none is wanted, and the goroutine must end.
func (k *Keeper) begin(r *root) (p *pass, held []Folder) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, r.next = r.next, nil
	r.working = p != nil
	r.folders.ended = k.ended
	for _, folders := range k.held {
		for _, folder := range folders {
			if rootKey(folder.Root) == r.key && !slices.Contains(held, folder) {
				held = append(held, folder)
			}
		}
	}
	switch {
	case r.working:
	case k.closed:
		r.folders.records.close()
	case len(held) == 0 && len(r.folders.made) == 0:
		delete(k.roots, r.key)
	}
	return p, held
}

// finish ends a pass. If folders are left that no thread holds, another pass follows, after longer and
// longer times.
func (k *Keeper) finish(r *root, p *pass, blocked []string, unheld bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.blocked, p.unheld = blocked, unheld
	close(p.done)
	if r.retry != nil {
		r.retry.Stop()
		r.retry = nil
	}
	if !unheld || k.closed {
		r.delay = 0
		return
	}
	r.delay = min(max(2*r.delay, firstRetry), lastRetry)
	r.retry = time.AfterFunc(r.delay, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if !k.closed {
			k.wantLocked(r)
		}
	})
}
