package guard_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// foldingDisk is a disk that finds names in any case, like that of macOS.
type foldingDisk struct {
	paths  []string          // as they are stored
	links  map[string]string // where each leads
	fold   func(string) string
	locked string // a folder whose names can't be listed
}

func (d foldingDisk) find(path string) (string, bool) {
	for _, one := range d.paths {
		if d.fold(one) == d.fold(path) {
			return one, true
		}
	}
	return "", path == "/"
}

func (d foldingDisk) Resolve(path string) (string, error) {
	for from, to := range d.links {
		if rest, ok := strings.CutPrefix(d.fold(path), d.fold(from)); ok && (rest == "" || rest[0] == '/') {
			path = to + path[len(from):]
		}
	}
	if _, ok := d.find(path); !ok {
		return "", &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrNotExist}
	}
	return path, nil // in the spelling that it was given
}

func (d foldingDisk) ReadLink(path string) (string, error) {
	if d.links[path] == "" {
		return "", fs.ErrInvalid
	}
	return d.links[path], nil
}

func (d foldingDisk) FoldsCase() bool { return true }

func (d foldingDisk) Names(folder string) (names []string, err error) {
	if folder == d.locked {
		return nil, fs.ErrPermission
	}
	for _, one := range d.paths {
		if one != "/" && filepath.Dir(one) == folder {
			names = append(names, filepath.Base(one))
		}
	}
	return names, nil
}

func (d foldingDisk) Same(a, b string) bool {
	one, ok := d.find(a)
	other, found := d.find(b)
	return ok && found && one == other
}

func TestCanonicalHasTheStoredCase(t *testing.T) {
	paths := []string{"/Users", "/Users/me", "/Users/me/Code", "/Users/me/Code/.git", "/Users/me/Code/caf\u00e9", "/srv", "/srv/Data"}
	forms := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "e\u0301", "\u00e9") }
	d := foldingDisk{paths: paths, links: map[string]string{"/link": "/users/ME/code"}, fold: forms}
	for typed, want := range map[string]string{
		"/":                           "/",
		"/Users/me/Code":              "/Users/me/Code",
		"/users/ME/cODE":              "/Users/me/Code",
		"/users/me/code/../CODE/.GIT": "/Users/me/Code/.git",
		"/USERS/me/code/New/File":     "/Users/me/Code/New/File",
		"/link/.Git":                  "/Users/me/Code/.git",
		"/users/me/code/cafe\u0301/x": "/Users/me/Code/caf\u00e9/x",
	} {
		if got, err := guard.CanonicalOn(d, typed); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", typed, got, err, want)
		}
	}
	if got, err := guard.CanonicalOn(d, "users"); err == nil {
		t.Errorf("a relative path: %q", got)
	}

	// A folder that can't be listed: the name is kept only where no other spelling finds it.
	d.locked = "/srv"
	if got, err := guard.CanonicalOn(d, "/srv/data"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a folder that can't be listed: %q, %v", got, err)
	}
	exact := foldingDisk{paths: paths, fold: func(s string) string { return s }, locked: "/srv"}
	if got, err := guard.CanonicalOn(exact, "/srv/Data"); err != nil || got != "/srv/Data" {
		t.Errorf("a folder that can't be listed, by its only name: %q, %v", got, err)
	}
}

// pairs are two names of which the disk takes one for the other, as they are spelled.
func pairs(from, to string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, from, to) }
}

func TestCanonicalOfUnresolvablePath(t *testing.T) {
	lower := strings.ToLower
	for name, test := range map[string]struct {
		d     foldingDisk
		typed string
		want  string // "" an error
	}{
		"a link to nothing":           {foldingDisk{paths: []string{"/a"}, links: map[string]string{"/a/link": "/none"}, fold: lower}, "/a/link/x", ""},
		"a folder above is locked":    {foldingDisk{paths: []string{"/a", "/a/b", "/a/b/c"}, fold: lower, locked: "/a"}, "/a/B/c", ""},
		"a locked folder, no letters": {foldingDisk{paths: []string{"/a", "/a/1"}, fold: lower, locked: "/a"}, "/a/1", ""},
		// A folder that does not store the name by which it finds a file.
		"a name that is not stored": {foldingDisk{paths: []string{"/a", "/a/b"}, fold: pairs("/hidden", "/a/b")}, "/hidden", ""},
		// In Unicode the kelvin sign folds to K, on this disk it does not.
		"two names that are alike": {foldingDisk{paths: []string{"/\u212a", "/k"}, fold: pairs("K", "k")}, "/K", "/k"},
	} {
		if got, err := guard.CanonicalOn(test.d, test.typed); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, test.want)
		}
	}
	if got, err := guard.CanonicalOn(emptyDisk{}, "/a/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("on an empty disk: %q, %v", got, err)
	}
}

// countingDisk counts the paths that are looked up.
type countingDisk struct {
	guard.Disk
	looks *int
}

func (d countingDisk) Resolve(path string) (string, error) {
	*d.looks += len(path)
	return d.Disk.Resolve(path)
}

// A path of many missing names is resolved in a few steps. A path that is too long for system calls
// is refused without a look-up.
func TestCanonicalOfLongPaths(t *testing.T) {
	root := world(t).StartFolder
	long := root + strings.Repeat("/a", (4096-len(root))/2)
	long += strings.Repeat("a", 4096-len(long)) // the folder of the test may have an odd length
	looks := 0
	if got, err := guard.CanonicalOn(countingDisk{guard.SystemDisk, &looks}, long); err != nil || got != long {
		t.Errorf("%d bytes: %d bytes, %v", len(long), len(got), err)
	}
	if looks > 16*4096 {
		t.Errorf("%d bytes of paths were looked up for one of %d", looks, len(long))
	}
	for name, path := range map[string]string{"names": long + "/aa", "dots": "/" + strings.Repeat("../", 1<<20), "80 kB": root + strings.Repeat("/a", 40000)} {
		looks = 0
		if got, err := guard.CanonicalOn(countingDisk{guard.SystemDisk, &looks}, path); err == nil || looks != 0 || !strings.Contains(err.Error(), "longer than 4096") || len(err.Error()) > 200 {
			t.Errorf("%s: %.80q, %.200v, %d bytes were looked up", name, got, err, looks)
		}
	}
}

// The existing part of a path is resolved, and the rest is kept.
func TestCanonicalOfMissingRest(t *testing.T) {
	root := world(t).StartFolder
	plant(t, root, txtar.Parse([]byte("-- a/b/c/d/file --\nx\n-- real/x --\n")))
	at := func(name string) string { return filepath.Join(root, name) }
	if err := errors.Join(os.Symlink("../../real", at("a/b/link")), os.Symlink("none/x", at("a/nowhere")), os.Symlink("loop", at("a/loop")), os.Symlink("b/link", at("a/way"))); err != nil {
		t.Fatal(err)
	}
	ends := map[string]string{"": "", "a": "a", "a/b": "a/b", "a/b/c/d": "a/b/c/d", "a/b/link": "real", "a/way": "real", "none": "none"}
	for start, end := range ends {
		rest := ""
		for range 12 {
			if got, err := guard.CanonicalOn(guard.SystemDisk, at(start)+rest); err != nil || got != at(end)+rest {
				t.Errorf("%s%s: %q, %v", start, rest, got, err)
			}
			rest += "/n"
		}
	}
	for _, start := range []string{"a/nowhere", "a/loop", "a/b/c/d/file/x"} {
		rest := ""
		for range 12 {
			if got, err := guard.CanonicalOn(guard.SystemDisk, at(start)+rest); err == nil {
				t.Errorf("%s%s: %q", start, rest, got)
			}
			rest += "/n"
		}
	}
}

// emptyDisk has no root.
type emptyDisk struct{ foldingDisk }

func (emptyDisk) Resolve(path string) (string, error) {
	return "", &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrNotExist}
}

func TestSystemDisk(t *testing.T) {
	root := world(t).StartFolder
	plant(t, root, txtar.Parse([]byte("-- a --\nx\n-- b --\nx\n")))
	at := func(name string) string { return filepath.Join(root, name) }
	if err := errors.Join(os.Link(at("a"), at("c")), os.Symlink("a", at("d"))); err != nil {
		t.Fatal(err)
	}
	d := guard.SystemDisk
	for pair, want := range map[[2]string]bool{{"a", "a"}: true, {"a", "c"}: true, {"a", "b"}: false, {"a", "d"}: false, {"a", "none"}: false, {"none", "a"}: false} {
		if d.Same(at(pair[0]), at(pair[1])) != want {
			t.Errorf("%q are one file: %t", pair, !want)
		}
	}
	for name, want := range map[string]bool{"a": false, "d": true, "none": false} {
		if _, err := d.ReadLink(at(name)); (err == nil) != want {
			t.Errorf("%s is a link: %t", name, !want)
		}
	}
	// On Windows links are resolved to the stored names.
	if _, err := os.Stat(at("A")); runtime.GOOS != "windows" && d.FoldsCase() != (err == nil) {
		t.Errorf("a is found as A: %v", err)
	}
	names, err := d.Names(root)
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{"a", "b", "c", "d"}) {
		t.Errorf("names %q, %v", names, err)
	}
	if names, err := d.Names(at("none")); err == nil {
		t.Errorf("names of nothing: %q", names)
	}
}

// A folder in another case has the trust of its project, under the key that Codex uses. It gives no
// access to a sensitive folder.
func TestFolderInAnotherCase(t *testing.T) {
	w := world(t)
	plant(t, w.StartFolder, txtar.Parse([]byte("-- Proj/.git/HEAD --\nx\n-- Proj/.codex/config.toml --\n-- Kept/x --\n")))
	d := foldingDisk{fold: strings.ToLower}
	err := filepath.WalkDir("/", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(w.StartFolder+"/", strings.TrimSuffix(path, "/")+"/"), strings.HasPrefix(path, w.StartFolder+"/"):
			d.paths = append(d.paths, path)
			return nil
		case entry.IsDir():
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Paths, w.Sensitive, w.Defaults = canonicalOf{d}, []string{w.StartFolder + "/Kept"}, new(policy.Defaults)
	p := load(t, "[policy]\n")
	decide := func(cwd string) policy.Decision {
		t.Helper()
		m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"thread/start","params":{"sandbox":"workspace-write","approvalPolicy":"on-request","cwd":"` + cwd + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return p.Decide(m, w)
	}
	if d := decide(w.StartFolder + "/pROJ"); d.Verdict != policy.Rewrite || !strings.Contains(string(d.Message), `"`+w.StartFolder+`/Proj"`) {
		t.Errorf("a project in another case: %s: %s %v", d.Verdict, d.Message, d.Err)
	}
	if d := decide(w.StartFolder + "/kEPT"); !strings.Contains(string(d.Message), `"sandbox":"read-only"`) {
		t.Errorf("a kept folder in another case: %s: %s %v", d.Verdict, d.Message, d.Err)
	}
}

// canonicalOf is a policy.Paths that resolves paths on a disk.
type canonicalOf struct{ guard.Disk }

func (c canonicalOf) Canonical(path string) (string, error) { return guard.CanonicalOn(c.Disk, path) }
func (c canonicalOf) Follow(path string) (string, error)    { return guard.FollowOn(c.Disk, path) }
func (c canonicalOf) Readings(path string) ([]string, error) {
	return guard.ReadingsOn(c.Disk, path)
}
