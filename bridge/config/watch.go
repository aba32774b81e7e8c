package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settleTime is how long the files must not change before Watch reads them: editors write in
	// several steps.
	settleTime = 100 * time.Millisecond
	// maxDelay is how long changes can delay the reading. The content of a workspace must not delay
	// changes of the user's file for longer.
	maxDelay = time.Second
)

// Watch calls changed after each change of the files' content: with the new configuration, or with
// the error of files that are not valid. The caller should then keep its configuration. Of a file that is
// not valid the last valid content counts, so that changes of others are effective; WorkspaceError has its
// error. Watch calls changed from its caller's goroutine until ctx ends; then it returns nil. It returns an
// error if it can't watch.
//
// It watches folders, so that files may be replaced, appear later or be links. It does not report a
// change of time stamps alone.
func Watch(ctx context.Context, opts Options, changed func(*Config, error)) error {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch configuration: %w", err)
	}
	defer fs.Close()
	w := &watcher{fs: fs, opts: opts}
	sources := w.read()
	seen, last := digest(sources), opts.Loaded
	if last == nil {
		last, _ = lenient(sources, opts, nil) // nil without a valid content
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	var delay debounce
	if opts.Loaded != nil && opts.Loaded.read != seen {
		seen = opts.Loaded.read
		timer.Reset(0)
	}
	errClosed := errors.New("watch configuration: the watcher was closed")
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-fs.Events:
			if !ok {
				return errClosed
			}
			if slices.Contains(w.paths, filepath.Clean(e.Name)) {
				timer.Reset(delay.next(time.Now()))
			}
		case _, ok := <-fs.Errors:
			if !ok {
				return errClosed
			}
			timer.Reset(delay.next(time.Now())) // events may be lost, so read the files
		case <-opts.Recheck:
			timer.Reset(0)
		case <-timer.C:
			delay = debounce{}
			sources := w.read()
			now := digest(sources)
			if now == seen {
				continue
			}
			seen = now
			cfg, err := lenient(sources, opts, last)
			switch {
			case err == nil && cfg.invalid != nil && last != nil && cfg.skipped == last.skipped && digest(cfg.sources) == digest(last.sources):
				changed(nil, cfg.invalid)
			default:
				changed(cfg, err)
			}
			if err == nil {
				last = cfg
			}
		}
	}
}

// debounce delays an action until events stop, but not for longer than maxDelay.
type debounce struct{ first time.Time } // the first event since the last action

// next returns how long after an event the action starts, if no other event comes.
func (d *debounce) next(now time.Time) time.Duration {
	if d.first.IsZero() {
		d.first = now
	}
	return min(settleTime, max(0, d.first.Add(maxDelay).Sub(now)))
}

// watcher watches the folders of files.
type watcher struct {
	fs    *fsnotify.Watcher
	opts  Options
	paths []string // the files, the targets of links, and the folders above both
	state string   // the file of the bundle; "" for none
}

// read reads the files. It watches their folders before, so that no change is lost.
func (w *watcher) read() []source {
	w.addFolders()
	sources := readAll(w.opts)
	for _, s := range sources {
		if s.bundle != nil && s.bundle.File != w.state {
			w.state = s.bundle.File
			w.addFolders()
			return readAll(w.opts)
		}
	}
	return sources
}

// addFolders watches the folders above each file and above the target of a link. The outermost comes
// first: the event of a folder that appears meanwhile comes from the one above it. addFolders ignores
// folders that can't be watched.
func (w *watcher) addFolders() {
	w.paths = w.paths[:0]
	files := []string{w.opts.Managed, w.opts.User, w.state}
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
		w.addFile(file)
		if target, err := filepath.EvalSymlinks(file); err == nil && target != file {
			w.addFile(target)
		}
	}
}

func (w *watcher) addFile(file string) {
	for _, folder := range ancestors(filepath.Dir(file)) {
		if slices.Contains(w.paths, folder) {
			continue
		}
		w.paths = append(w.paths, folder)
		_ = w.fs.Add(folder) // the folder may be missing
	}
	w.paths = append(w.paths, file)
}
