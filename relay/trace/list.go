package trace

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// File is the file of a trace.
type File struct {
	Name     string    `json:"name"` // without .jsonl; usually the id of the thread
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

// List returns the traces in a folder, the newest last. A folder that does not exist has none.
func List(folder string) ([]File, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []File
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".jsonl")
		if !ok || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue // just deleted
		}
		all = append(all, File{name, filepath.Join(folder, entry.Name()), info.Size(), info.ModTime()})
	}
	slices.SortFunc(all, func(a, b File) int { return cmp.Or(a.Modified.Compare(b.Modified), cmp.Compare(a.Name, b.Name)) })
	return all, nil
}
