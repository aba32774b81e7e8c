package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/theupdateframework/go-tuf/v2/metadata"
	tuf "github.com/theupdateframework/go-tuf/v2/metadata/config"
	"github.com/theupdateframework/go-tuf/v2/metadata/trustedmetadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/updater"
)

// Bounds of the files of a repository, in bytes.
const (
	maxBundle    = 256 << 10 // as that of a configuration file
	maxRoot      = 256 << 10
	maxTimestamp = 16 << 10
	maxSnapshot  = 1 << 20
	maxTargets   = 2 << 20
	maxStored    = 32 << 20
)

// Names of the files in a client's folder.
const (
	bundleFile  = "bundle.json"
	attemptFile = "attempt.json"
	lockName    = "lock"
)

// ErrNone means that there is no verified bundle yet.
var ErrNone = errors.New("there is no verified bundle yet")

// Options are those of New.
type Options struct {
	URL    string // of the repository, without a password in messages
	Root   string // the file of the trusted root
	Folder string // of this client; only its owner may have access
	// Check returns an error for a bundle that this program can't use. Then an earlier one stays.
	Check func(*Content) error
	Now   func() time.Time
	Fetch Fetch // nil for https and file addresses
}

// Client gets the bundle of a repository. It may be used concurrently, and by several processes.
type Client struct {
	o Options

	mu   sync.Mutex
	read fs.FileInfo // of the file that last was read from
	root string      // the trusted root then
	last *stored     // the last verified one; nil for none
	seen *Content    // of last
	top  []byte      // the last root of last
	lost bool        // the file no longer has last
}

// New returns a client.
func New(o Options) *Client {
	if o.Fetch == nil {
		o.Fetch = fetch
	}
	return &Client{o: o}
}

// File returns the path of the file that changes with each pull.
func (c *Client) File() string { return filepath.Join(c.o.Folder, bundleFile) }

// URL returns the address of the repository, without a password.
func (c *Client) URL() string {
	u, err := url.Parse(c.o.URL)
	if err != nil {
		return "an address that is not valid"
	}
	return u.Redacted()
}

// Load returns the last verified bundle. If its file or the trusted root is missing or damaged, or the bundle is
// older than one that this process has seen, it returns the one that it has seen. The next pull writes that again. Without any it returns an error, ErrNone if none was pulled.
func (c *Client) Load() (*Content, error) {
	root, err := readFile(c.o.Root, maxRoot)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.seen != nil {
		root = []byte(c.root)
	} else if err != nil {
		return nil, fmt.Errorf("policy_source.root: %w", err)
	}
	return c.load(root)
}

// load is Load. The lock must be held.
func (c *Client) load(root []byte) (*Content, error) {
	if c.root != string(root) { // the operator trusts another one; what it verifies counts
		if c.seen != nil {
			if _, err := trustedmetadata.New(root); err != nil {
				return c.seen, nil //nolint:nilerr // the file may be half written
			}
		}
		c.root, c.read, c.last, c.seen, c.top = string(root), nil, nil, nil, nil
	}
	info, err := os.Stat(c.File())
	if err == nil && c.read != nil && os.SameFile(info, c.read) && info.ModTime().Equal(c.read.ModTime()) && info.Size() == c.read.Size() {
		return c.seen, nil
	}
	var text []byte
	if err == nil {
		text, err = readFile(c.File(), maxStored)
	}
	s := new(stored)
	var found *Content
	var top []byte
	if err == nil {
		if err = json.Unmarshal(text, s); err == nil {
			found, top, err = s.verify(root)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", c.File(), err)
		}
	}
	switch {
	case c.seen != nil && (err != nil || found.isOlder(c.seen)):
		c.lost = true
		return c.seen, nil //nolint:nilerr // the next pull writes the file again
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNone
	case err != nil:
		return nil, err
	}
	c.read, c.last, c.seen, c.top, c.lost = info, s, found, top, false
	return found, nil
}

// Pulled is the result of a pull.
type Pulled struct {
	Before *Content // nil for none
	After  *Content
	// Asked is false if another process has pulled a moment ago.
	Asked bool
}

// Pull gets the bundle from the repository. It asks only if the last pull is minAge ago. If it fails, the bundle
// stays as it is.
func (c *Client) Pull(ctx context.Context, minAge time.Duration) (Pulled, error) {
	if err := os.MkdirAll(c.o.Folder, 0o700); err != nil {
		return Pulled{}, err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(c.o.Folder, lockName)).Lock()
	if err != nil {
		return Pulled{}, err
	}
	defer unlock()
	p, err := c.pull(ctx, minAge)
	if p.Asked || err != nil {
		c.recordAttempt(err)
	}
	return p, err
}

// pull is Pull. The lock between processes must be held.
func (c *Client) pull(ctx context.Context, minAge time.Duration) (p Pulled, err error) {
	root, err := readFile(c.o.Root, maxRoot)
	if err != nil {
		return p, fmt.Errorf("policy_source.root: %w", err)
	}
	c.mu.Lock()
	p.Before, err = c.load(root)
	last, top, lost := c.last, c.top, c.lost
	c.mu.Unlock()
	if err != nil && !errors.Is(err, ErrNone) {
		p.Before = nil // a damaged file; the repository has the bundle
	}
	if p.Before != nil && lost { // for other processes, even if the pull fails
		if err := c.write(last); err != nil {
			return p, err
		}
	}
	if p.Before != nil {
		if age := c.o.Now().Sub(p.Before.Refreshed); age >= 0 && age < minAge {
			p.After = p.Before
			return p, nil
		}
	}
	p.Asked = true
	if p.Before == nil {
		last, top = nil, root
	}
	next, err := c.update(ctx, top, last)
	if err != nil {
		return p, err
	}
	after, top, err := next.verifyAfter(last, p.Before, top)
	switch {
	case err != nil:
		return p, err
	case p.Before != nil && after.isOlder(p.Before):
		return p, fmt.Errorf("version %d is older than version %d", after.Version, p.Before.Version)
	}
	if err := c.o.Check(after); err != nil {
		return p, err
	}
	if err := c.write(next); err != nil {
		return p, err
	}
	p.After = after
	c.mu.Lock()
	defer c.mu.Unlock()
	c.root, c.last, c.seen, c.top, c.lost = string(root), next, after, top, false
	c.read, _ = os.Stat(c.File()) // only Pull writes it, under the lock
	return p, nil
}

func (c *Client) write(s *stored) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return replaceFile(c.File(), text, 0o600)
}

// update gets the metadata and the bundle by the library's workflow, in a folder that it removes. It begins with
// a root and the last verified bundle, which may be nil.
func (c *Client) update(ctx context.Context, root []byte, last *stored) (*stored, error) {
	old, err := filepath.Glob(filepath.Join(c.o.Folder, "pull-*")) // of processes that were killed
	if err != nil {
		return nil, err
	}
	for _, folder := range old {
		_ = os.RemoveAll(folder)
	}
	folder, err := os.MkdirTemp(c.o.Folder, "pull-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // the next pull does so, too
	file := func(role string) string { return filepath.Join(folder, role+".json") }
	next := &stored{Refreshed: c.o.Now().UTC()}
	if last != nil {
		next.Roots = last.Roots
		for role, text := range map[string][]byte{metadata.TIMESTAMP: last.Timestamp, metadata.SNAPSHOT: last.Snapshot, metadata.TARGETS: last.Targets} {
			if err := os.WriteFile(file(role), text, 0o600); err != nil {
				return nil, err
			}
		}
	}
	cfg, err := tuf.New(c.o.URL, root)
	if err != nil {
		return nil, err
	}
	download := &recorder{ctx: ctx, fetch: c.o.Fetch}
	cfg.LocalMetadataDir, cfg.LocalTargetsDir, cfg.Fetcher = folder, folder, download
	cfg.RootMaxLength, cfg.TimestampMaxLength, cfg.SnapshotMaxLength, cfg.TargetsMaxLength = maxRoot, maxTimestamp, maxSnapshot, maxTargets
	up, err := updater.New(cfg)
	if err != nil {
		return nil, err
	}
	up.UnsafeSetRefTime(next.Refreshed)
	if err := up.Refresh(); err != nil {
		return nil, err
	}
	next.Roots = append(next.Roots[:len(next.Roots):len(next.Roots)], download.roots...)
	for role, text := range map[string]*[]byte{metadata.TIMESTAMP: &next.Timestamp, metadata.SNAPSHOT: &next.Snapshot, metadata.TARGETS: &next.Targets} {
		if *text, err = os.ReadFile(file(role)); err != nil {
			return nil, err
		}
	}
	target, table, err := targetsOf(up.GetTopLevelTargets())
	if err != nil {
		return nil, err
	}
	before := new(stored)
	if last != nil {
		before = last
	}
	if next.Bundle, err = fetchTarget(up, target, before.Bundle, filepath.Join(folder, "bundle")); err != nil || table == nil {
		return next, err
	}
	next.Table, err = fetchTarget(up, table, before.Table, filepath.Join(folder, "table"))
	return next, err
}

// fetchTarget returns the content of a target: the one before, if it is the same.
func fetchTarget(up *updater.Updater, target *metadata.TargetFiles, before []byte, to string) ([]byte, error) {
	if target.VerifyLengthHashes(before) == nil {
		return before, nil
	}
	_, text, err := up.DownloadTarget(target, to, "")
	return text, err
}

// Attempt is the last pull that asked the repository.
type Attempt struct {
	At    time.Time `json:"at"`
	Error string    `json:"error,omitempty"`
}

// recordAttempt writes the result of a pull. It is for people only, so a failure does not matter.
func (c *Client) recordAttempt(err error) {
	a := Attempt{At: c.o.Now().UTC()}
	if err != nil {
		a.Error = err.Error()
	}
	if text, err := json.Marshal(a); err == nil {
		_ = os.WriteFile(filepath.Join(c.o.Folder, attemptFile), text, 0o600)
	}
}

// LastAttempt returns the last pull of any process; false if there was none.
func (c *Client) LastAttempt() (a Attempt, ok bool) {
	text, err := readFile(filepath.Join(c.o.Folder, attemptFile), maxTimestamp)
	return a, err == nil && json.Unmarshal(text, &a) == nil
}
