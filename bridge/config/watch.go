package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// quiet is how long the files must rest before they are read: editors write in
// several steps, and a half-written file would be a false alarm.
const quiet = 100 * time.Millisecond

// restless is when they are read although they do not rest: a workspace's file is written by
// whoever works there, who must not keep the user's own changes from being seen.
const restless = time.Second

// Watch calls changed after each change of the files' content: with the new
// configuration, or with the error when it is not valid and the caller should
// keep what it has. It calls from its own goroutine, the caller's, one call at
// a time, until ctx ends; then it returns nil. An error means that watching
// could not begin or broke off.
//
// It watches folders, not files, so that files may be replaced by rename,
// appear later, or be links; what matters is content: a change of time stamps
// alone is not reported.
func Watch(ctx context.Context, opts Options, changed func(*Config, error)) error {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch configuration: %w", err)
	}
	defer fs.Close()
	w := &watcher{fs: fs, opts: opts}
	// Watch first and read then, so that nothing falls between.
	w.cover()
	seen := digest(readAll(opts))
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	var p patience
	if opts.Loaded != nil && opts.Loaded.digest != seen {
		seen = opts.Loaded.digest
		timer.Reset(0)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-fs.Events:
			if !ok {
				return errors.New("watch configuration: the watcher was closed")
			}
			if w.concerns(filepath.Clean(e.Name)) {
				timer.Reset(p.wait(time.Now()))
			}
		case _, ok := <-fs.Errors:
			if !ok {
				return errors.New("watch configuration: the watcher was closed")
			}
			timer.Reset(p.wait(time.Now())) // events were lost: look for ourselves
		case <-timer.C:
			p = patience{}
			w.cover()
			sources := readAll(opts)
			if now := digest(sources); now != seen {
				seen = now
				changed(build(sources, opts))
			}
		}
	}
}

// patience is how long to wait for the files to rest.
type patience struct{ since time.Time } // the first event that was not looked into

// wait is how long after an event they are read, if no other comes.
func (p *patience) wait(now time.Time) time.Duration {
	if p.since.IsZero() {
		p.since = now
	}
	return min(quiet, max(0, p.since.Add(restless).Sub(now)))
}

// watcher keeps the right folders watched.
type watcher struct {
	fs    *fsnotify.Watcher
	opts  Options
	paths []string // whose events matter: the files, where they link to, and the folders above them
}

// cover watches the folder of each file, or the nearest one above it that
// exists, and the same for where a link leads. Folders that cannot be watched
// are left: the ones above them still tell of most changes.
func (w *watcher) cover() {
	w.paths = w.paths[:0]
	files := []string{w.opts.Managed, w.opts.User}
	if w.opts.Workspace != "" {
		files = append(files, workspacePaths(w.opts.Workspace)...)
	}
	for _, file := range files {
		if file == "" {
			continue
		}
		if abs, err := filepath.Abs(file); err == nil {
			file = abs
		}
		w.coverFile(file)
		if real, err := filepath.EvalSymlinks(file); err == nil && real != file {
			w.coverFile(real)
		}
	}
}

func (w *watcher) coverFile(file string) {
	w.paths = append(w.paths, file)
	for dir := filepath.Dir(file); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		w.paths = append(w.paths, dir)
	}
	// A folder may appear between the look and the watch: look again, but not
	// for ever at one that is there and cannot be watched.
	for range 3 {
		added := w.coverNearest(filepath.Dir(file))
		if added == filepath.Dir(file) || added == "" {
			return
		}
		if _, err := os.Stat(below(added, file)); err != nil {
			return
		}
	}
}

// coverNearest watches dir or the nearest folder above it that exists.
func (w *watcher) coverNearest(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && w.fs.Add(dir) == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// below is the folder in dir on the way to file.
func below(dir, file string) string {
	for parent := filepath.Dir(file); parent != dir; parent = filepath.Dir(file) {
		if parent == file {
			break
		}
		file = parent
	}
	return file
}

// concerns says whether an event is about a file, or a folder on the way to
// one.
func (w *watcher) concerns(name string) bool { return slices.Contains(w.paths, name) }

// digest stands for what the files say, faults in reading them included.
func digest(sources []source) string {
	h := sha256.New()
	for _, s := range sources {
		text := s.text
		if s.err != nil {
			text = s.err.Error()
		}
		fmt.Fprintf(h, "%d %q %d\n%s\n", s.layer, s.file, len(text), text)
	}
	return string(h.Sum(nil))
}
