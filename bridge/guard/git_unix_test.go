//go:build unix

package guard

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// findGit looks in the folders of execvp, and refuses a PATH by which the program could be in the
// folder of a thread.
func TestFindGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "git")
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, relative := range map[string]bool{
		dir: false, dir + ":": false, "/nowhere:" + dir + ":.": false, "": true, ":" + dir: true, "bin:" + dir: true, "/nowhere::" + dir: true,
	} {
		g := &Guard{shared: &shared{sharedOptions: sharedOptions{gitEnv: []string{"PATH=" + path}}}}
		found, err := g.findGit()
		if relative != errors.Is(err, errRelativePath) || !relative && found != program {
			t.Errorf("PATH=%s: %q, %v", path, found, err)
		}
	}
	if found, err := (&Guard{shared: &shared{sharedOptions: sharedOptions{gitEnv: []string{}}}}).findGit(); err != nil || found != "" && filepath.Dir(found) != "/bin" && filepath.Dir(found) != "/usr/bin" {
		t.Errorf("without PATH: %q, %v", found, err)
	}
}
