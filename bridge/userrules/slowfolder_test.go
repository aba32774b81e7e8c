package userrules

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A folder that does not answer holds up no reader of another folder.
func TestSlowFolder(t *testing.T) {
	slow, other := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "x.rules"), []byte("prefix_rule(pattern = [\"ls\"], decision = \"allow\")\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	waits, release, done := make(chan struct{}), make(chan struct{}), make(chan *Set)
	readDir = func(folder string) ([]fs.DirEntry, error) {
		if folder == slow {
			close(waits)
			<-release
		}
		return os.ReadDir(folder)
	}
	t.Cleanup(func() { readDir = os.ReadDir })
	var r Reader
	go func() { done <- r.Read(slow) }()
	<-waits
	if set := r.Read(other); set.Err != nil || len(set.Rules) != 1 {
		t.Errorf("the rules of another folder: %+v", set)
	}
	close(release)
	if set := <-done; set.Err != nil || len(set.Rules) != 0 {
		t.Errorf("the rules of the slow folder: %+v", set)
	}
}
