//go:build unix

package store_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"

	"github.com/google/go-cmp/cmp"
)

// Open creates folders and files for their owner only, with any umask, and also the parent folders.
func TestOpenCreatesPrivateFiles(t *testing.T) {
	dir := t.TempDir()
	o := store.Options{Folder: filepath.Join(dir, "a", "b?#%41 c", "state")}
	s := open(t, o)
	if err := s.Append(t.Context(), testDecision()); err != nil {
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
		"a/b?#%41 c/state/writers.lock": 0o600,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Open refuses files that other users could read, replace or redirect.
func TestOpenRefusesAccessibleFiles(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(folder, file string) error // after the state was created
		path    string                          // in the error, relative to the folder
		want    string
	}{
		{"folder for the group", func(d, _ string) error { return os.Chmod(d, 0o750) }, "", "mode is 0750; chmod 700 "},
		{"folder for others", func(d, _ string) error { return os.Chmod(d, 0o701) }, "", "mode is 0701"},
		{"file for others", func(_, f string) error { return os.Chmod(f, 0o604) }, "state.db", "mode is 0604; chmod 600 "},
		{"log for the group", func(_, f string) error { return writeEmpty(f+"-wal", 0o640) }, "state.db-wal", "mode is 0640"},
		{"shared memory for the group", func(_, f string) error { return writeEmpty(f+"-shm", 0o620) }, "state.db-shm", "mode is 0620"},
		{"folder is a link", func(d, _ string) error { return replaceByLink(d) }, "", "symbolic link"},
		{"file is a link", func(_, f string) error { return replaceByLink(f) }, "state.db", "symbolic link"},
		{"log is a link to nothing", func(_, f string) error { return os.Symlink("/nowhere/x", f+"-wal") }, "state.db-wal", "symbolic link"},
		{"file has a hard link", func(d, f string) error { return os.Link(f, d+".other") }, "state.db", "has 2 hard links"},
		{"file is a pipe", func(_, f string) error { return errors.Join(os.Remove(f), syscall.Mkfifo(f, 0o600)) }, "state.db", "is not a file"},
		{"log is a pipe", func(_, f string) error { return syscall.Mkfifo(f+"-wal", 0o600) }, "state.db-wal", "is not a file"},
		{"folder is a pipe", func(d, _ string) error { return errors.Join(os.RemoveAll(d), syscall.Mkfifo(d, 0o600)) }, "", "is not a folder"},
		{"file is a folder", func(_, f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) }, "state.db", "is not a file"},
		{"folder is a file", func(d, _ string) error { return errors.Join(os.RemoveAll(d), writeEmpty(d, 0o600)) }, "", "is not a folder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := store.Options{Folder: filepath.Join(t.TempDir(), "state")}
			open(t, o).Close()
			if err := tt.prepare(o.Folder, filepath.Join(o.Folder, store.DatabaseFile)); err != nil {
				t.Fatal(err)
			}
			checkRefused(t, o, filepath.Join(o.Folder, tt.path), tt.want)
		})
	}
}

// Open refuses the folder of another user. As root, the test uses a folder of a normal user;
// otherwise root's.
func TestOpenRefusesOtherOwner(t *testing.T) {
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
	checkRefused(t, store.Options{Folder: folder}, folder, "belongs to the user")
}

func checkRefused(t *testing.T, o store.Options, path, want string) {
	t.Helper()
	for _, o.ReadOnly = range []bool{false, true} {
		s, err := store.Open(t.Context(), o)
		if err == nil {
			s.Close()
			t.Fatal("Open succeeded")
		}
		var access *statefolder.AccessError
		if !errors.As(err, &access) || access.Path != path || !strings.Contains(err.Error(), want) || access.Hint == "" {
			t.Errorf("Open returned %v; want %s … %s", err, path, want)
		}
	}
}

func writeEmpty(path string, mode fs.FileMode) error {
	return errors.Join(os.WriteFile(path, nil, mode), os.Chmod(path, mode))
}

// replaceByLink replaces a file or folder by a link to it.
func replaceByLink(path string) error {
	return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
}

// Append fails if the file was removed or replaced: its entries would be lost.
func TestAppendToRemovedFileFails(t *testing.T) {
	for name, remove := range map[string]func(o store.Options) error{
		"removed":        func(o store.Options) error { return os.Remove(filepath.Join(o.Folder, store.DatabaseFile)) },
		"folder removed": func(o store.Options) error { return os.RemoveAll(o.Folder) },
		"replaced": func(o store.Options) error {
			path := filepath.Join(o.Folder, store.DatabaseFile)
			return errors.Join(os.Rename(path, path+".old"), writeEmpty(path, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := backends[0].fresh(t)
			s := open(t, o)
			if err := s.Append(t.Context(), testDecision()); err != nil {
				t.Fatal(err)
			}
			if err := remove(o); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				err := s.Append(t.Context(), testDecision())
				if err == nil || !strings.Contains(err.Error(), s.Location()+" was removed or replaced") {
					t.Errorf("Append returned %v", err)
				}
			}
		})
	}
}

// Open does not create a database if its file is missing but its write-ahead log exists: SQLite
// would delete the log.
func TestOpenKeepsOrphanedLog(t *testing.T) {
	o := backends[0].fresh(t)
	s := open(t, o)
	if err := s.Append(t.Context(), testDecision()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.Folder, store.DatabaseFile)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil || len(log) == 0 {
		t.Fatal(len(log), err)
	}
	if other, err := store.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), path+" is missing") || !strings.Contains(err.Error(), "; restore the file") {
		t.Errorf("Open with only the write-ahead log returned %v", err)
		if err == nil {
			other.Close()
		}
	}
	if after, err := os.ReadFile(path + "-wal"); err != nil || !bytes.Equal(after, log) {
		t.Errorf("the log has %d bytes, want %d: %v", len(after), len(log), err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), testDecision()); err != nil {
		t.Error(err)
	}
	if head, err := open(t, o).Verify(t.Context()); err != nil || head.Seq != 2 {
		t.Error(head, err)
	}
}
