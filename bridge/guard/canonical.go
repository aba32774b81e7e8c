package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// disk is a file system in which paths are resolved.
type disk interface {
	// Resolve returns an existing path without its links, like filepath.EvalSymlinks.
	Resolve(path string) (string, error)
	// ReadLink returns the target of a link, and an error for any other path.
	ReadLink(path string) (string, error)
	// FoldsCase reports whether a folder may find a name in another case than it stores.
	FoldsCase() bool
	// Names returns the names that a folder stores.
	Names(folder string) ([]string, error)
	// Same reports whether two paths lead to one file.
	Same(a, b string) bool
}

// maxPath bounds the length of a path in bytes. Linux opens no longer one.
const maxPath = 4096

// canonical returns an absolute path without links, with each name as its folder stores it. If the
// path does not exist, it resolves the part that exists.
func canonical(d disk, path string) (string, error) {
	switch {
	case len(path) > maxPath:
		return "", tooLongError(path, maxPath)
	case !filepath.IsAbs(path):
		return "", errors.New("not an absolute path: " + path)
	}
	path = filepath.Clean(path)
	if isInProc(path) {
		return "", errInProc
	}
	resolved, err := d.Resolve(path)
	if resolved != path {
		if _, err := walk(d, path, nil); errors.Is(err, errInProc) {
			return "", err
		}
	}
	switch {
	case err == nil:
		return withStoredNames(d, resolved)
	case errors.Is(err, fs.ErrPermission):
		return "", errUnreadable
	case !errors.Is(err, fs.ErrNotExist):
		return "", err // a loop of links
	}
	// If a folder is missing, everything in it is. So a binary search finds the longest part that
	// exists.
	ends := nameEnds(path)
	existing := sort.Search(len(ends), func(i int) bool {
		at, failed := d.Resolve(path[:ends[i]])
		if failed == nil {
			resolved = at
		} else {
			err = failed
		}
		return failed != nil
	}) - 1
	if existing < 0 || !errors.Is(err, fs.ErrNotExist) {
		return "", err // no part exists, or a file has changed
	}
	missing := len(path)
	if existing+1 < len(ends) {
		missing = ends[existing+1]
	}
	// A link whose target is missing leads to the place of its target.
	if _, err := d.ReadLink(path[:missing]); err == nil {
		return "", &fs.PathError{Op: "resolve", Path: path[:missing], Err: errors.New("a link to nothing")}
	}
	if resolved, err = withStoredNames(d, resolved); err != nil {
		return "", err
	}
	return filepath.Join(resolved, path[ends[existing]:]), nil
}

// follow is canonical with the path read as the kernel does: name by name. ".." behind a link is
// the folder above the link's target, and a link whose target is missing leads to the place of its
// target.
func follow(d disk, path string) (string, error) {
	at, err := walk(d, path, nil)
	if err != nil {
		return "", err
	}
	return canonical(d, at)
}

// readings returns the paths by which the kernel reaches a file: with each link on the way, the path in
// which the link is the next name, and then the canonical path. If path has "..", the result also has the
// paths that follow finds for it. Beside an error, readings returns the paths found before it.
func readings(d disk, path string) ([]string, error) {
	found, err := appendReadings(d, nil, filepath.Clean(path), canonical)
	if err == nil && strings.Contains(path, "..") {
		found, err = appendReadings(d, found, path, follow)
	}
	return found, err
}

// appendReadings appends the readings of a path whose end resolve finds.
func appendReadings(d disk, found []string, path string, resolve func(disk, string) (string, error)) ([]string, error) {
	add := func(at string) {
		if !slices.Contains(found, at) {
			found = append(found, at)
		}
	}
	_, err := walk(d, path, func(link string, rest []string) error {
		at, err := withStoredNames(d, link)
		if err == nil {
			add(filepath.Join(append([]string{at}, rest...)...))
		}
		return err
	})
	if err != nil {
		return found, err
	}
	end, err := resolve(d, path)
	if err == nil {
		add(end)
	}
	return found, err
}

const (
	// maxFollowed bounds the names of a path that walk reads, with those of its links.
	maxFollowed = 4096
	errInProc   = policy.PathError("it leads through /proc, where each process finds other files")
	errTooMany  = policy.PathError("it has too many names or links")
	// A command can make its folder readable before it opens the file.
	errUnreadable = policy.PathError("the bridge may not read one of its folders")
)

// tooLongError is the error for a path that has more than limit bytes. A command that is in one of
// its folders may still open the file.
func tooLongError(path string, limit int) error {
	return policy.PathError(fmt.Sprintf("a path of %d bytes is longer than %d", len(path), limit))
}

// isInProc reports whether a clean path is below /proc. There, links such as cwd lead each process
// elsewhere, and in a sandbox the numbers are those of other processes.
func isInProc(path string) bool { return strings.HasPrefix(path, "/proc/") }

// walk returns the place to which the names of an absolute path lead, one by one, without its links.
// The result is clean, and may not exist. visit gets each link, in a folder without links, and the names
// behind it; it may be nil.
func walk(d disk, path string, visit func(link string, rest []string) error) (string, error) {
	switch {
	case len(path) > 2*maxPath: // a folder, and a path in it
		return "", tooLongError(path, 2*maxPath)
	case !filepath.IsAbs(path):
		return "", errors.New("not an absolute path: " + path)
	}
	split := func(path string) []string {
		names := strings.FieldsFunc(path, func(r rune) bool { return r < utf8.RuneSelf && os.IsPathSeparator(uint8(r)) })
		slices.Reverse(names)
		return names
	}
	root := filepath.VolumeName(path) + string(filepath.Separator)
	at, rest := root, split(path[len(root)-1:]) // rest is in reverse order
	links := 0
	for steps := 0; len(rest) > 0; steps++ {
		if steps == maxFollowed || links > maxLinks {
			return "", errTooMany
		}
		name := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		at = filepath.Join(at, name) // at has no links, so ".." removes a name
		if name == "." || name == ".." {
			continue
		}
		switch {
		case isInProc(at):
			return "", errInProc
		case len(at) > maxPath:
			return "", tooLongError(at, maxPath)
		}
		target, err := d.ReadLink(at)
		switch {
		case errors.Is(err, fs.ErrPermission):
			return "", errUnreadable
		case err != nil:
			continue
		}
		links++
		if visit != nil {
			behind := slices.Clone(rest)
			slices.Reverse(behind)
			if err := visit(at, behind); err != nil {
				return "", err
			}
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
			target = target[len(at)-1:]
		} else {
			at = filepath.Dir(at)
		}
		rest = append(rest, split(target)...)
	}
	return at, nil
}

// nameEnds returns the lengths of the folders of a clean path, from the root.
func nameEnds(path string) []int {
	root := min(len(filepath.VolumeName(path))+1, len(path))
	ends := []int{root}
	for i := root + 1; i < len(path); i++ {
		if os.IsPathSeparator(path[i]) {
			ends = append(ends, i)
		}
	}
	return ends
}

// withStoredNames returns an existing path without links, with the names that its folders store.
func withStoredNames(d disk, path string) (string, error) {
	if !d.FoldsCase() {
		return path, nil
	}
	return storedPath(d, path)
}

// storedPath returns an existing path without links, with the names that its folders store.
//
// macOS finds /Users/me/Code as /users/ME/code, and EvalSymlinks keeps the spelling. Codex's and
// the policy's paths of one folder would then differ.
func storedPath(d disk, path string) (string, error) {
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	folder, err := storedPath(d, parent)
	if err != nil {
		return "", err
	}
	at := filepath.Join(folder, filepath.Base(path))
	names, err := d.Names(folder)
	if err != nil {
		// If another spelling leads to another file, the folder finds only the stored name.
		if other := filepath.Join(folder, swapCase(filepath.Base(path))); other != at && !d.Same(at, other) {
			return at, nil
		}
		return "", err
	}
	return storedName(d, at, names)
}

// storedName returns at with the name under which its folder stores it, one of names.
func storedName(d disk, at string, names []string) (string, error) {
	folder, name := filepath.Split(at)
	if slices.Contains(names, name) {
		return at, nil
	}
	for _, alike := range []func(string) bool{
		func(one string) bool { return strings.EqualFold(one, name) },
		func(string) bool { return true }, // Unicode has several forms of one name
	} {
		for _, one := range names {
			if found := filepath.Join(folder, one); alike(one) && d.Same(found, at) {
				return found, nil
			}
		}
	}
	return "", &fs.PathError{Op: "resolve", Path: at, Err: errors.New("its folder stores no such name")}
}

// swapCase returns a name with upper and lower case exchanged.
func swapCase(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, name)
}

// systemDisk is the disk of this machine.
type systemDisk struct{}

func (systemDisk) Resolve(path string) (string, error) { return filepath.EvalSymlinks(path) }

func (systemDisk) ReadLink(path string) (string, error) { return os.Readlink(path) }

// FoldsCase returns false on Windows, where EvalSymlinks returns the stored names.
func (systemDisk) FoldsCase() bool { return runtime.GOOS == "darwin" }

func (systemDisk) Names(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func (systemDisk) Same(a, b string) bool {
	one, err := os.Lstat(a)
	if err != nil {
		return false
	}
	other, err := os.Lstat(b)
	return err == nil && os.SameFile(one, other)
}

// filesystem implements the interfaces of policy.State with the file system of this machine.
type filesystem struct{}

// PolicyFiles implements policy.PolicyFiles.
func (filesystem) PolicyFiles(folder string) []string {
	var files []string
	for _, file := range config.WorkspaceFiles(folder) {
		// Measured with Codex 0.169: Codex runs no command if it should protect a link in a writable
		// folder. So the result has the target of a link.
		if at, err := (filesystem{}).Canonical(file); err == nil {
			files = append(files, at)
		}
	}
	return files
}

// Canonical implements policy.Paths.
func (filesystem) Canonical(path string) (string, error) { return resolveOnDisk(canonical, path) }

// Follow implements policy.Paths.
func (filesystem) Follow(path string) (string, error) { return resolveOnDisk(follow, path) }

// Readings implements policy.Paths.
func (filesystem) Readings(path string) ([]string, error) { return resolveOnDisk(readings, path) }

// resolveOnDisk resolves a path on the disk of this machine.
func resolveOnDisk[T any](resolve func(disk, string) (T, error), path string) (found T, err error) {
	if runtime.GOOS == "windows" {
		plain, err := windowsPath(path)
		if err != nil {
			return found, err
		}
		path = plain
	}
	return resolve(systemDisk{}, path)
}
