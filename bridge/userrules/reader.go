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

// Bounds of what is read.
const (
	maxFile  = 1 << 20 // bytes
	maxFiles = 256     // of a folder
)

// Reader reads the rules of folders, and again when a file has changed. Codex keeps in
// memory what it has read when a thread was opened (measured with 0.169), so a Reader keeps
// every rule that it has ever read that lets a command out, and of the others only those
// that every version had.
type Reader struct {
	mu   sync.Mutex
	sets map[string]entry // by folder
}

type entry struct {
	files []fileState
	set   *Set
}

// seen is a file as it was when it was read.
type fileState struct {
	path string
	info fs.FileInfo
}

func (s fileState) isUnchanged(o fileState) bool {
	return s.path == o.path && os.SameFile(s.info, o.info) && s.info.Size() == o.info.Size() && s.info.ModTime().Equal(o.info.ModTime())
}

// Read is what the files *.rules of the folders say, in the order of their names. A folder
// that is not there says nothing.
func (r *Reader) Read(folders ...string) *Set {
	r.mu.Lock()
	defer r.mu.Unlock()
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
	files, err := list(folder)
	if err != nil {
		return &Set{Err: err}
	}
	known, ok := r.sets[folder]
	if len(files) == 0 && !ok {
		return new(Set)
	}
	if ok && slices.EqualFunc(known.files, files, fileState.isUnchanged) {
		return known.set
	}
	set := new(Set)
	for _, file := range files {
		found, err := readFile(file)
		if err != nil {
			set.Err = fmt.Errorf("the rules for commands in %s can't be read: %w; put them right, or take the file away", file.path, err)
			break
		}
		set.Rules = append(set.Rules, found...)
	}
	if ok {
		set = known.set.merge(set)
	}
	if r.sets == nil {
		r.sets = make(map[string]entry)
	}
	r.sets[folder] = entry{files, set}
	return set
}

// joined returns what may count where it is not known which of two versions does: what one
// of them lets out, and of the rest what both have. The fault is that of the later one.
func (s *Set) merge(later *Set) *Set {
	if later.Err != nil { // its rules are not known
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

// has tells whether the set has a rule of the same pattern and decision.
func (s *Set) has(one Rule) bool {
	return slices.ContainsFunc(s.Rules, func(r Rule) bool {
		return r.Decision == one.Decision && slices.EqualFunc(r.Pattern, one.Pattern, slices.Equal)
	})
}

// list are the files of a folder; links are followed, as Codex does.
func list(folder string) ([]fileState, error) {
	entries, err := os.ReadDir(folder)
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
		case errors.Is(err, fs.ErrNotExist): // a link to nothing
			continue
		case err != nil:
			return nil, fmt.Errorf("the rules for commands can't be read: %w; let their owner read them", err)
		case info.IsDir():
			continue
		}
		if files = append(files, fileState{path, info}); len(files) > maxFiles {
			return nil, fmt.Errorf("%s has more than %d files of rules for commands; take some away", folder, maxFiles)
		}
	}
	return files, nil
}

func readFile(file fileState) ([]Rule, error) {
	switch {
	case !file.info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
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
