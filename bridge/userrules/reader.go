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
)

// Limits of the files.
const (
	maxFile  = 1 << 20 // bytes
	maxFiles = 256     // of a folder
)

// Reader reads the rules of folders, and again when a file has changed. Codex keeps the rules that
// it has read when a thread was opened (measured with 0.169). So a Reader keeps every Allow rule
// that it has ever read, and of the others only those that all versions had. It may be used
// concurrently.
type Reader struct {
	mu   sync.RWMutex
	sets map[string]entry // by folder
}

type entry struct {
	files []fileState
	set   *Set
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
	if err != nil {
		return &Set{Err: err}
	}
	known, ok := r.known(folder)
	switch {
	case len(files) == 0 && !ok:
		return new(Set)
	case ok && slices.EqualFunc(known.files, files, fileState.isUnchanged):
		return known.set
	}
	set := new(Set)
	for _, file := range files {
		found, err := readFile(file)
		if err != nil {
			set.Err = fmt.Errorf("the rules for commands in %s can't be read: %w; correct them, or remove the file", file.path, err)
			break
		}
		set.Rules = append(set.Rules, found...)
	}
	return r.add(folder, files, set)
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
func (r *Reader) add(folder string, files []fileState, set *Set) *Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.sets[folder]; ok {
		set = known.set.merge(set)
	}
	if r.sets == nil {
		r.sets = make(map[string]entry)
	}
	r.sets[folder] = entry{files, set}
	return set
}

// merge returns the rules that apply if either of two versions may be the effective one: all Allow
// rules, and the other rules that both have. Err is that of the later version.
func (s *Set) merge(later *Set) *Set {
	if later.Err != nil { // its rules are unknown
		return &Set{Rules: s.Rules, Err: later.Err}
	}
	all := &Set{}
	for _, r := range later.Rules {
		if r.Decision == Allow || s.Err != nil || s.has(r) {
			all.Rules = append(all.Rules, r)
		}
	}
	for _, r := range s.Allowing() {
		if !all.has(r) {
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

// list returns the rules files in a folder. It follows links, as Codex does.
func list(folder string) ([]fileState, error) {
	entries, err := readDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
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
		case errors.Is(err, fs.ErrNotExist): // a broken link
			continue
		case err != nil:
			return nil, fmt.Errorf("the rules for commands can't be read: %w; let their owner read them", err)
		case info.IsDir():
			continue
		}
		if files = append(files, fileState{path, info}); len(files) > maxFiles {
			return nil, fmt.Errorf("%s has more than %d files of rules for commands; remove some", folder, maxFiles)
		}
	}
	return files, nil
}

func readFile(file fileState) ([]Rule, error) {
	switch {
	case !file.info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case file.info.Size() > maxFile:
		return nil, fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	f, err := os.Open(file.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	return load(file.path, text)
}
