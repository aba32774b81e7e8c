package config

import (
	"context"
	"crypto/sha256"
	"io"
	"time"
)

const (
	// checkInterval is how often Watch reads the files. To watch their folders costs more: Linux marks each
	// name that it knows in them, macOS needs a file descriptor for each file, and programs may write
	// much there. It also misses changes in some network file systems and containers.
	checkInterval = 500 * time.Millisecond
	// settleTime is how long the files must not change before Watch parses them: editors write in
	// several steps.
	settleTime = 100 * time.Millisecond
	// maxDelay is how long changes can delay the parsing. The content of a workspace must not delay
	// changes of the user's file for longer.
	maxDelay = time.Second
)

// Watch calls changed after each change of the files' content: with the new configuration, or with
// the error of files that are not valid. The caller should then keep its configuration. Of a file that is
// not valid the last valid content counts, so that changes of others are effective; WorkspaceError has its
// error. Watch calls changed from its caller's goroutine until ctx ends.
//
// Files may be replaced, appear later or be links. Watch does not report a change of time stamps alone.
func Watch(ctx context.Context, opts Options, changed func(*Config, error)) {
	w := newWatcher(opts)
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-opts.Recheck:
		case <-ticker.C:
			if !w.differs() {
				continue
			}
			w.settle(ctx)
		}
		if ctx.Err() == nil {
			w.check(changed)
		}
	}
}

// watcher finds changes of files.
type watcher struct {
	opts    Options
	content string  // digests of the files and of the bundle's file, as differs has read them
	bundle  string  // the file of the bundle; "" for none
	seen    string  // the digest of what check has reported
	last    *Config // the last valid configuration; nil for none
}

func newWatcher(opts Options) *watcher {
	if opts.Loaded != nil {
		return &watcher{opts: opts, seen: opts.Loaded.read, last: opts.Loaded}
	}
	sources := readAll(opts)
	last, _ := lenient(sources, opts, nil) // nil without a valid content
	return &watcher{opts: opts, seen: digest(sources), last: last}
}

// differs reads the files, and returns whether their content differs from that of its last call. It
// neither parses a file nor verifies a bundle.
func (w *watcher) differs() bool {
	content := digest(readFiles(w.opts))
	if w.bundle != "" {
		content += digestOfFile(w.bundle)
	}
	before := w.content
	w.content = content
	return content != before
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
	w.bundle = ""
	for _, s := range sources {
		if s.bundle != nil {
			w.bundle = s.bundle.File
		}
	}
	now := digest(sources)
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
