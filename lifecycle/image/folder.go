package image

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"codex-bridge.example/bridge/store"
)

const (
	// folderPrefix starts the name of a job's folder. A mark of the bridge's process follows.
	folderPrefix = "codex-bridge-image-"
	// maxListed is how many names of the folder for temporary files a job reads.
	maxListed = 1 << 14
	// maxRemoved is how many folders of ended bridges a job removes.
	maxRemoved = 64
)

// makeFolder creates an empty folder for a job among the temporary files, and removes those of bridges that were killed.
func makeFolder() (string, error) {
	here, err := store.CurrentProcess()
	if err != nil {
		return "", err
	}
	removeLeft(os.TempDir(), here)
	return os.MkdirTemp("", folderPrefix+here.Mark()+"-")
}

// removeLeft removes the folders of jobs whose bridge has ended. It ignores errors: the next job tries again. A job
// leaves an empty folder. One with files is not the bridge's, since each process may create folders here.
func removeLeft(parent string, here store.Holder) {
	dir, err := os.Open(parent)
	if err != nil {
		return
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(maxListed) // those before an error
	removed := 0
	for _, e := range entries {
		mark, isOwn := strings.CutPrefix(e.Name(), folderPrefix)
		if !isOwn || e.Type() != fs.ModeDir || !here.MarkHasEnded(mark) {
			continue
		}
		_ = os.Remove(filepath.Join(parent, e.Name())) // fails for a folder that is not empty, or of another user
		if removed++; removed == maxRemoved {
			return
		}
	}
}
