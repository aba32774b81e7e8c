package mountpoint

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// entries returns the names in a folder, up to a few.
func entries(root *os.Root, name string) (names []string, ok bool) {
	f, err := root.Open(name)
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }()
	names, err = f.Readdirnames(len(CodexNames) + 1)
	return names, err == nil || errors.Is(err, io.EOF)
}

// isEmpty reports whether name is an empty folder.
func isEmpty(root *os.Root, name string) bool {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() {
		return false
	}
	names, ok := entries(root, name)
	return ok && len(names) == 0
}

// removeFolder removes an empty folder. Unlike Root.Remove it never removes a file, which the user
// may have just put there.
func removeFolder(root *os.Root, name string) {
	parent, err := root.Open(path.Dir(name))
	if err != nil {
		return
	}
	defer func() { _ = parent.Close() }()
	_ = unix.Unlinkat(int(parent.Fd()), path.Base(name), unix.AT_REMOVEDIR)
}

// mounts are the mount points in the mount namespaces of other processes, such as sandboxed commands.
type mounts []string

// readMounts reads the mount points of the processes that this user may inspect. A sandboxed command
// of Codex runs as the user.
//
// The kernel lets a folder be removed that is a mount point elsewhere, and then unmounts there.
func readMounts() mounts {
	var all mounts
	own, _ := os.Readlink("/proc/self/ns/mnt")
	seen := map[string]bool{own: true}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		namespace, err := os.Readlink(process + "/ns/mnt")
		if err != nil || seen[namespace] {
			continue
		}
		if found, err := readMountInfo(process + "/mountinfo"); err == nil {
			seen[namespace] = true
			all = append(all, found...)
		}
	}
	return all
}

// readMountInfo returns the mount points in a file of proc(5).
func readMountInfo(file string) (found []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 4 {
			found = append(found, unescape(fields[4]))
		}
	}
	return found, lines.Err()
}

// unescape replaces the octal escapes of blanks and backslashes in a mount point.
func unescape(at string) string {
	var out strings.Builder
	for i := 0; i < len(at); i++ {
		if at[i] == '\\' && i+3 < len(at) {
			if c, err := strconv.ParseUint(at[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		out.WriteByte(at[i])
	}
	return out.String()
}

// include reports whether a path, or one below it, is a mount point.
func (m mounts) include(at string) bool {
	for _, mount := range m {
		if mount == at || strings.HasPrefix(mount, at+"/") {
			return true
		}
	}
	return false
}
