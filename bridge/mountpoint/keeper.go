package mountpoint

import (
	"path/filepath"
	"strings"
)

// Folder is an empty folder to keep: Name is relative to Root, with slashes. Folders above it, below
// Root, are kept with it.
type Folder struct {
	Root string `json:"root"`
	Name string `json:"name"`
}

// path returns the folder's absolute path.
func (f Folder) path() string { return filepath.Join(f.Root, filepath.FromSlash(f.Name)) }

// steps returns the folders from the one below Root to f.
func (f Folder) steps() []Folder {
	var out []Folder
	for i, c := range f.Name {
		if c == '/' {
			out = append(out, Folder{f.Root, f.Name[:i]})
		}
	}
	return append(out, f)
}

// isOrLeadsTo reports whether f is other or a folder above it.
func (f Folder) isOrLeadsTo(other Folder) bool {
	return f.Root == other.Root && (f.Name == other.Name || strings.HasPrefix(other.Name, f.Name+"/"))
}

// CodexNames are the folders that Codex itself creates as mount points in each writable folder, and
// leaves there if it is killed.
var CodexNames = []string{".agents", ".aws", ".codex", ".git"}
