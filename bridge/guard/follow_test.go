//go:build !windows

package guard_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
)

// Follow finds the file that the kernel opens.
func TestFollow(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"sub/.github/x", "sub/.github/workflows", "plain"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"lnk": "sub/.github/x", "lnk2": "sub/.github", "abs": root + "/sub/.github/x", "twice": "plain/../lnk", "gone": "sub/.github/workflows/new",
		"gone2": "gone", "loop": "loop", "up": "..", "plain/there": "../lnk2", "many": strings.Repeat("./", 2000) + ".",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"plain/f":                              "plain/f",
		"plain/../f":                           "f",
		"plain//./f":                           "plain/f",
		"none/../f":                            "f",
		"lnk2/workflows/f":                     "sub/.github/workflows/f",
		"lnk/../workflows/f":                   "sub/.github/workflows/f",
		"abs/../workflows/f":                   "sub/.github/workflows/f",
		"twice/../workflows/f":                 "sub/.github/workflows/f",
		"plain/there/workflows/f":              "sub/.github/workflows/f",
		"lnk/../../../lnk/../workflows/f":      "sub/.github/workflows/f",
		"gone":                                 "sub/.github/workflows/new",
		"gone2":                                "sub/.github/workflows/new",
		"up/" + filepath.Base(root) + "/f":     "f",
		"loop/f":                               "",
		"many/many/f":                          "f",
		"many/many/many/f":                     "", // more than 4,096 names
		strings.Repeat("plain/../", 300) + "f": "f",
		strings.Repeat("x/", 4096) + "f":       "",
	} {
		got, err := guard.FollowOn(guard.SystemDisk, root+"/"+path)
		if want != "" {
			want = filepath.Join(root, want)
		}
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%.60s: %q, %v, want %q", path, got, err, want)
		}
		// The kernel agrees.
		if real, err := filepath.EvalSymlinks(root + "/" + filepath.Dir(path)); want != "" && !strings.HasPrefix(path, "gone") && err == nil && filepath.Base(path) == "f" {
			if f, err := os.Create(root + "/" + path); err == nil {
				f.Close()
				if _, err := os.Stat(want); err != nil {
					t.Errorf("%s: the kernel writes another file than %s (in %s)", path, want, real)
				}
				os.Remove(want)
			}
		}
	}
	// In /proc the bridge finds another file than the process that opens it.
	if err := errors.Join(os.Symlink("/proc/self/cwd", filepath.Join(root, "here")), os.Symlink("/proc/1", filepath.Join(root, "first"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"here", "here/none", "plain/../here/f", "first", "first/cwd/f", "first/none"} {
		for name, resolve := range map[string]func(guard.Disk, string) (string, error){"canonical": guard.CanonicalOn, "follow": guard.FollowOn} {
			if got, err := resolve(guard.SystemDisk, root+"/"+path); runtime.GOOS == "linux" && !errors.As(err, new(policy.PathError)) {
				t.Errorf("%s of %s: %q, %v", name, path, got, err)
			}
		}
	}
	if got, err := guard.CanonicalOn(guard.SystemDisk, "/proc"); runtime.GOOS == "linux" && err != nil {
		t.Errorf("/proc: %q, %v", got, err)
	}
	for size, want := range map[int]string{8192: root + "/f", 8193: ""} {
		got, err := guard.FollowOn(guard.SystemDisk, root+strings.Repeat("/", size-len(root)-1)+"f")
		if got != want || want == "" && (err == nil || err.Error() != "a path of 8193 bytes is longer than 8192") {
			t.Errorf("%d bytes: %q, %v", size, got, err)
		}
	}
	last := "f" // the kernel follows 40 links, one after the other
	for n := range 41 {
		name := fmt.Sprint("chain", n)
		if err := os.Symlink(last, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
		last = name
	}
	for name, want := range map[string]string{"chain39": root + "/f", "chain40": ""} {
		if got, err := guard.FollowOn(guard.SystemDisk, root+"/"+name); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := guard.FollowOn(guard.SystemDisk, "a/b"); err == nil {
		t.Errorf("a relative path: %q", got)
	}
	if got, err := guard.FollowOn(guard.SystemDisk, "/"); err != nil || got != "/" {
		t.Errorf("the root: %q, %v", got, err)
	}
}

// closedDisk is the system's disk with one folder that the bridge may not read.
type closedDisk struct {
	guard.Disk
	folder string
}

func (d closedDisk) Resolve(path string) (string, error) {
	if strings.HasPrefix(path, d.folder+"/") {
		return "", &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrPermission}
	}
	return d.Disk.Resolve(path)
}

func (d closedDisk) ReadLink(path string) (string, error) {
	if strings.HasPrefix(path, d.folder+"/") {
		return "", &fs.PathError{Op: "readlink", Path: path, Err: fs.ErrPermission}
	}
	return d.Disk.ReadLink(path)
}

// A command can make a folder readable before it opens a file behind a link in it.
func TestFollowInUnreadableFolder(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := closedDisk{guard.SystemDisk, root + "/closed"}
	for _, path := range []string{"closed/lnk", "closed/lnk/f", "closed/lnk/../../f"} {
		if got, err := guard.FollowOn(d, root+"/"+path); !errors.As(err, new(policy.PathError)) {
			t.Errorf("follow of %s: %q, %v", path, got, err)
		}
	}
	if got, err := guard.CanonicalOn(d, root+"/closed/lnk"); !errors.As(err, new(policy.PathError)) {
		t.Errorf("canonical: %q, %v", got, err)
	}
}
