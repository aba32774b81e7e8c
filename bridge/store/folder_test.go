//go:build unix

package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/bridge/store"

	"github.com/adrg/xdg"
	"github.com/google/go-cmp/cmp"
)

func TestFolder(t *testing.T) {
	t.Cleanup(xdg.Reload) // after the variables are restored
	t.Setenv("HOME", "/home/ada")
	t.Setenv("XDG_STATE_HOME", "/var/ada")
	xdg.Reload()
	for _, tt := range []struct{ value, want string }{
		{"/srv/state/", "/srv/state"},
		{"", filepath.Join(xdg.StateHome, "codex-bridge")},
		{"state", ""},
		{"./state", ""},
	} {
		t.Setenv(store.EnvFolder, tt.value)
		got, err := store.Folder()
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("with %q: %q, %v; want %q", tt.value, got, err, tt.want)
		}
	}
}

// All that is made is its owner's alone, whatever the umask would allow; what is
// above the folder too.
func TestModes(t *testing.T) {
	dir := t.TempDir()
	o := store.Options{Folder: filepath.Join(dir, "a", "b?#%41 c", "state")}
	s := open(t, o)
	if err := s.Append(t.Context(), full()); err != nil {
		t.Fatal(err)
	}
	got := map[string]fs.FileMode{}
	if err := filepath.WalkDir(filepath.Join(dir, "a"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		got[path[len(dir)+1:]] = info.Mode()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	folder := fs.ModeDir | 0o700
	want := map[string]fs.FileMode{
		"a": folder, "a/b?#%41 c": folder, "a/b?#%41 c/state": folder,
		"a/b?#%41 c/state/state.db": 0o600, "a/b?#%41 c/state/state.db-wal": 0o600, "a/b?#%41 c/state/state.db-shm": 0o600,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Where somebody else could read, replace or redirect, nothing is opened.
func TestAccess(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(folder, file string) error // after the state was made
		path    string                          // that the error names, below the folder
		says    string
	}{
		{"folder for the group", func(d, _ string) error { return os.Chmod(d, 0o750) }, "", "mode is 0750; chmod 700 "},
		{"folder for others", func(d, _ string) error { return os.Chmod(d, 0o701) }, "", "mode is 0701"},
		{"file for others", func(_, f string) error { return os.Chmod(f, 0o604) }, "state.db", "mode is 0604; chmod 600 "},
		{"log for the group", func(_, f string) error { return file(f+"-wal", 0o640) }, "state.db-wal", "mode is 0640"},
		{"shared memory for the group", func(_, f string) error { return file(f+"-shm", 0o620) }, "state.db-shm", "mode is 0620"},
		{"folder is a link", func(d, _ string) error { return link(d) }, "", "symbolic link"},
		{"file is a link", func(_, f string) error { return link(f) }, "state.db", "symbolic link"},
		{"log is a link to nothing", func(_, f string) error { return os.Symlink("/nowhere/x", f+"-wal") }, "state.db-wal", "symbolic link"},
		{"file is a folder", func(_, f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) }, "state.db", "is no file"},
		{"folder is a file", func(d, _ string) error { return errors.Join(os.RemoveAll(d), file(d, 0o600)) }, "", "is no folder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := store.Options{Folder: filepath.Join(t.TempDir(), "state")}
			open(t, o).Close()
			if err := tt.prepare(o.Folder, filepath.Join(o.Folder, store.DatabaseFile)); err != nil {
				t.Fatal(err)
			}
			refused(t, o, filepath.Join(o.Folder, tt.path), tt.says)
		})
	}
}

// Another user's folder: whoever runs the tests, root or not, one of the two
// belongs to somebody else.
func TestOwner(t *testing.T) {
	folder := "/"
	if os.Geteuid() == 0 {
		folder = t.TempDir()
		if err := os.Chmod(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(folder, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, store.Options{Folder: folder}, folder, "belongs to the user")
}

func refused(t *testing.T, o store.Options, path, says string) {
	t.Helper()
	for _, o.ReadOnly = range []bool{false, true} {
		s, err := store.Open(t.Context(), o)
		if err == nil {
			s.Close()
			t.Fatal("it opened")
		}
		var access *store.AccessError
		if !errors.As(err, &access) || access.Path != path || !strings.Contains(err.Error(), says) || access.Mend == "" {
			t.Errorf("Open says %v; want %s … %s", err, path, says)
		}
	}
}

func file(path string, mode fs.FileMode) error {
	return errors.Join(os.WriteFile(path, nil, mode), os.Chmod(path, mode))
}

// link puts a link in the place of what is there.
func link(path string) error {
	return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
}
