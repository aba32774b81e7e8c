package userrules

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Limits of the files.
const (
	maxFile  = 1 << 20 // bytes
	maxFiles = 256     // of a folder
)

// Reader reads the rules of folders, and again when a file has changed. Codex keeps the rules that
// it has read when a thread was opened (measured with 0.169 and 0.171). So a Reader keeps every rule
// that it has ever read. If a version of a file could be read by Codex alone, its rules stay unknown.
// A Reader may be used concurrently.
type Reader struct {
	mu   sync.RWMutex
	sets map[string]entry // by folder
}

type entry struct {
	files []fileState
	set   *Set
	// unknown is why an earlier version could not be read, if Codex may have read it.
	unknown error
}

// fileState is a file as it was when it was read.
type fileState struct {
	path string
	info fs.FileInfo
}

func (s fileState) isUnchanged(o fileState) bool {
	return s.path == o.path && os.SameFile(s.info, o.info) && s.info.Size() == o.info.Size() && s.info.ModTime().Equal(o.info.ModTime())
}

// Read returns the rules of the files *.rules in the folders, in the order of their names. A
// missing folder has no rules.
func (r *Reader) Read(folders ...string) *Set {
	all := new(Set)
	for _, folder := range folders {
		one := r.readFolder(folder)
		all.Rules = append(all.Rules, one.Rules...)
		if all.Err == nil {
			all.Err = one.Err
		}
	}
	return all
}

func (r *Reader) readFolder(folder string) *Set {
	files, err := list(folder) // without the lock: a folder of a network may not answer
	switch {
	case errors.Is(err, errMany):
		return r.add(folder, entry{set: &Set{Err: err}, unknown: unknownRules(folder, err)})
	case err != nil:
		return &Set{Err: err}
	}
	known, ok := r.known(folder)
	switch {
	case len(files) == 0 && !ok:
		return new(Set)
	case ok && slices.EqualFunc(known.files, files, fileState.isUnchanged):
		return known.set
	}
	one := entry{files: files, set: new(Set)}
	for _, file := range files {
		found, err := readFile(file)
		one.set.Rules = append(one.set.Rules, found...)
		if err != nil && one.set.Err == nil {
			one.set.Err = fmt.Errorf("the rules for commands in %s can't be read: %w; correct them, or remove the file", file.path, err)
		}
		if isReadByCodex(err) && one.unknown == nil {
			one.unknown = unknownRules(file.path, err)
		}
	}
	return r.add(folder, one)
}

// isReadByCodex reports whether Codex may read a file that is unreadable here.
func isReadByCodex(err error) bool {
	var invalid notPlain
	return errors.As(err, &invalid) || errors.Is(err, errLong)
}

// unknownRules returns the error for rules that Codex may have read, and keeps.
func unknownRules(place string, err error) error {
	return fmt.Errorf("the rules for commands in %s could not be read: %w. Codex may have read them, and threads keep them; correct them, and start codex-bridge again", place, err)
}

// known returns what was read of a folder.
func (r *Reader) known(folder string) (entry, bool) {
	r.mu.RLock() // hooks of parallel tool calls do not wait for each other
	defer r.mu.RUnlock()
	known, ok := r.sets[folder]
	return known, ok
}

// add stores what was read of a folder, and returns the rules that apply. Another call may have read the
// folder in the meantime.
func (r *Reader) add(folder string, one entry) *Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.sets[folder]; ok {
		one.set = known.set.merge(one.set)
		if known.unknown != nil {
			one.unknown = known.unknown
			if one.set.Err == nil {
				one.set.Err = known.unknown
			}
		}
	}
	if r.sets == nil {
		r.sets = make(map[string]entry)
	}
	r.sets[folder] = one
	return one.set
}

// merge returns the rules that apply if either of two versions may be the effective one: those of both.
// Err is that of the later version.
func (s *Set) merge(later *Set) *Set {
	all := &Set{Rules: slices.Clip(later.Rules), Err: later.Err}
	for _, r := range s.Rules {
		if !later.has(r) {
			all.Rules = append(all.Rules, r)
		}
	}
	return all
}

// has reports whether the set has a rule with the same pattern and decision.
func (s *Set) has(one Rule) bool {
	return slices.ContainsFunc(s.Rules, func(r Rule) bool {
		return r.Decision == one.Decision && slices.EqualFunc(r.Pattern, one.Pattern, slices.Equal)
	})
}

// readDir is os.ReadDir. A test lets it wait.
var readDir = os.ReadDir

// list returns the files in a folder that Codex may take for rules files. Measured with 0.169 and 0.171: it
// reads none of those that are links, named .RULES, or named .rules alone. Here they count, so that
// another Codex loses none of their rules.
func list(folder string) ([]fileState, error) {
	entries, err := readDir(folder)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the folder of rules for commands can't be read: %w; let its owner read it", err)
	}
	var files []fileState
	for _, e := range entries {
		if !strings.EqualFold(filepath.Ext(e.Name()), ".rules") {
			continue
		}
		path := filepath.Join(folder, e.Name())
		info, err := os.Stat(path)
		switch {
		case isAbsent(err): // a broken link
			continue
		case err != nil:
			return nil, fmt.Errorf("the rules for commands can't be read: %w; let their owner read them", err)
		case info.IsDir():
			continue
		}
		if files = append(files, fileState{path, info}); len(files) > maxFiles {
			return nil, fmt.Errorf("%s has %w; remove some", folder, errMany)
		}
	}
	return files, nil
}

// isAbsent reports whether an error of looking for a file proves that there is none, also by a file in place of a folder.
//
// Measured with Codex 0.169 and 0.171: a thread opens where .codex is a file, and has no rules of that project. None opens
// if the folder of rules itself is a file.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

var (
	errNoFile = errors.New("it is not a regular file")
	errMany   = fmt.Errorf("more than %d files of rules for commands", maxFiles)
	errLong   = fmt.Errorf("it is longer than %d bytes", maxFile)
)

func readFile(file fileState) ([]Rule, error) {
	switch {
	case !file.info.Mode().IsRegular():
		return nil, errNoFile
	case file.info.Size() > maxFile:
		return nil, errLong
	}
	f, err := os.Open(file.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, errLong
	}
	return load(file.path, text)
}
