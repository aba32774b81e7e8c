package config

import (
	"context"
	"crypto/sha256"
	"io"
	"path/filepath"
	"slices"
	"time"
)

const (
	// checkInterval is how often Watch reads the files. To watch their folders costs more: Linux marks each
	// name that it knows in them, macOS needs a file descriptor for each file, and programs may write
	// much there. It also misses changes in some network file systems and containers.
	checkInterval = 500 * time.Millisecond
	// settleTime is how long the files must not have changed when Watch parses them: editors write in
	// several steps.
	settleTime = 100 * time.Millisecond
	// maxDelay is how long further changes can delay the parsing. The content of a workspace must not delay
	// changes of the user's file for longer.
	maxDelay = time.Second
)

// Watch calls changed after each change of the files' content: with the new configuration, or with
// the error of files that are not valid. The caller should then keep its configuration. Of a file that is
// not valid the last valid content counts, so that changes of others are effective; WorkspaceError has its
// error. Watch calls changed from its caller's goroutine until ctx ends.
//
// Files may be replaced, appear later or be links. A file that disappears or becomes empty, as with the connection to
// its file system, counts as before. Watch does not report a change of time stamps alone.
func Watch(ctx context.Context, opts Options, changed func(*Config, error)) {
	w := newWatcher(opts)
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-opts.Recheck:
			w.differs()
		case <-ticker.C:
			if !w.differs() {
				continue
			}
		}
		w.settle(ctx)
		if ctx.Err() == nil {
			w.check(changed)
		}
	}
}

// watcher finds changes of files.
type watcher struct {
	opts       Options
	bundleFile string   // "" for none
	tables     []source // those that name a newer table
	content    string   // what differs has read last; without the bundle, which is verified only by check
	seen       string   // the digest of the files and the bundle that last is of, or that changed has the error of
	last       *Config  // the last valid configuration; nil for none
}

func newWatcher(opts Options) *watcher {
	w := &watcher{last: opts.Loaded}
	// A command may replace a link to the workspace, and must not choose another policy by it.
	if folder, err := filepath.EvalSymlinks(opts.Workspace); err == nil && opts.Workspace != "" {
		opts.Workspace = folder
	}
	w.opts = opts
	if w.last != nil {
		w.seen = w.last.read
		return w
	}
	sources := readAll(opts)
	w.seen = digest(sources)
	w.last, _ = lenient(sources, opts, nil) // nil without a valid content
	return w
}

// addMissing adds the files that had settings before and are gone now, as ones with an error, so that these settings
// count on: a slip, a script or a lost file system would end the policy.
func (w *watcher) addMissing(sources []source) []source {
	if w.last == nil {
		return sources
	}
	for _, before := range w.last.sources {
		read := slices.ContainsFunc(sources, func(now source) bool { return now.layer == before.layer && now.file == before.file })
		if read || before.setsNothing(w.opts.Home) {
			continue
		}
		before.text, before.err = "", newError("is gone; its settings before count on", "restore it; to end them, write a comment into it, or restart the bridge")
		before.err.File = before.file
		sources = append(sources, before)
	}
	slices.SortStableFunc(sources, func(a, b source) int {
		if a.layer == Workspace && b.layer == Workspace {
			return len(a.file) - len(b.file) // the outermost first
		}
		return int(a.layer) - int(b.layer)
	})
	return sources
}

// rejectEmptied makes a file an error that is empty now and had settings before, so that these count on: a write that
// failed, or is not finished, would end the policy.
func (w *watcher) rejectEmptied(sources []source) {
	for i := range sources {
		s := &sources[i]
		if before, ok := w.last.source(*s); ok && s.err == nil && s.isEmpty() && !before.setsNothing(w.opts.Home) {
			s.err = newError("is empty now; its settings before count on", "restore it; to end them, write a comment into it, or restart the bridge")
			s.err.File = s.file
		}
	}
}

// differs reads the files, and returns whether their content differs from that of its last call. It
// neither parses a file nor verifies a bundle.
func (w *watcher) differs() bool {
	content := w.contentOf(readFiles(w.opts))
	before := w.content
	w.content = content
	return content != before
}

// contentOf returns digests of the files and of the bundle's file.
func (w *watcher) contentOf(sources []source) string {
	files := slices.Clone(sources)
	for i := range files {
		files[i].bundle = nil
	}
	content := digest(files)
	if w.bundleFile != "" {
		content += digestOfFile(w.bundleFile)
	}
	content += digestOfTables(w.tables)
	return content
}

// digestOfFile returns "" for a file that can't be read.
func digestOfFile(name string) string {
	f, err := openFile(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return string(h.Sum(nil))
}

// settle waits until the content has not changed for settleTime, but not for longer than maxDelay.
func (w *watcher) settle(ctx context.Context) {
	for end := time.Now().Add(maxDelay); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return
		case <-time.After(settleTime):
		}
		if !w.differs() {
			return
		}
	}
}

// check calls changed if the files or the bundle have changed.
func (w *watcher) check(changed func(*Config, error)) {
	sources := readAll(w.opts)
	w.bundleFile, w.tables = "", sources
	for _, s := range sources {
		if s.bundle != nil {
			w.bundleFile = s.bundle.File
		}
	}
	read := w.contentOf(sources)
	sources = w.addMissing(sources)
	w.rejectEmptied(sources)
	now := digest(sources)
	if now != w.seen || read != w.content {
		w.content = "" // look once more: the files may again be what differs has read, and not what check has read
	}
	if now == w.seen {
		return
	}
	w.seen = now
	cfg, err := lenient(sources, w.opts, w.last)
	if err == nil && cfg.invalid != nil && w.last != nil && cfg.skipped == w.last.skipped && digest(cfg.sources) == digest(w.last.sources) {
		changed(nil, cfg.invalid)
	} else {
		changed(cfg, err)
	}
	if err == nil {
		w.last = cfg
	}
}
