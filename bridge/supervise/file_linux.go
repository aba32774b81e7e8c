//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bytes"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// view is what a process that waits sees: its root, its folders and its descriptors.
type view string // its folder in /proc

func viewOf(pid uint32) view { return view("/proc/" + strconv.FormatUint(uint64(pid), 10)) }

// errUnknownFile is the failure of a program whose file the bridge can't determine.
var errUnknownFile = errors.New("its file can't be determined")

// opened is a file of a process that waits.
type opened struct {
	*os.File
	name string // without links; "" if it has none
}

// open opens a file as the process would. It returns the absolute name that the process uses for it.
func (v view) open(file target, dir string) (opened, string, error) {
	name := file.path
	switch {
	case file.empty && file.folder == atFolder:
		return opened{}, dir, unix.EACCES // a folder
	case file.empty:
		return v.openDescriptor(strconv.Itoa(int(file.folder)))
	case name == "":
		return opened{}, name, unix.ENOENT
	}
	root, err := openFolder(string(v) + "/root")
	if err != nil {
		return opened{}, name, errors.Join(errUnknownFile, err)
	}
	defer closeFile(root)
	if path.IsAbs(name) {
		f, err := v.openAbsolute(root, name)
		return f, name, err
	}
	link := string(v) + "/cwd"
	if file.folder != atFolder {
		link = string(v) + "/fd/" + strconv.Itoa(int(file.folder))
		if dir, err = os.Readlink(link); err != nil {
			return opened{}, name, unix.EBADF
		}
	}
	full := strings.TrimSuffix(dir, "/") + "/" + name
	folder, err := openFolder(link)
	if err != nil {
		return opened{}, full, err
	}
	defer closeFile(folder)
	f, err := openName(folder, name, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_BENEATH)
	if errors.Is(err, errUnknownFile) || errors.Is(err, unix.ELOOP) { // it has a link or ".."
		f, err = v.walk(root, folder, name)
	}
	return f, full, err
}

// follow returns the file behind all links of a path.
func (v view) follow(path string) (string, error) {
	f, _, err := v.open(target{folder: atFolder, path: path}, "")
	if err != nil {
		return "", err
	}
	defer f.Close()
	if f.name == "" {
		return "", errUnknownFile
	}
	return f.name, nil
}

// openFolder opens a folder for looking names up in it.
func openFolder(name string) (int, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil && !errors.Is(err, unix.ENOTDIR) {
		err = errors.Join(errUnknownFile, err)
	}
	return fd, err
}

// closeFile closes a descriptor. That can't fail for one that was only read.
func closeFile(fd int) { _ = unix.Close(fd) }

// openAbsolute opens a file by its absolute name.
func (v view) openAbsolute(root int, name string) (opened, error) {
	if isOwn(name) {
		return v.openOwn(root, name)
	}
	f, err := openName(root, name, unix.RESOLVE_IN_ROOT)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOENT) { // a link of /proc, which may be missing for this process alone
		return v.walk(root, root, name)
	}
	return f, err
}

// isOwn reports whether a name leads to an open file or the program of the process that uses it. Other links of /proc
// are not known.
func isOwn(name string) bool {
	_, ok := descriptorIn(name)
	return ok || name == ownProgram
}

func (v view) openOwn(root int, name string) (opened, error) {
	if !v.hasProc(root, strings.HasPrefix(name, "/dev/")) {
		return opened{}, errors.Join(errUnknownFile, errors.New("its /proc is no usual one"))
	}
	if number, ok := descriptorIn(name); ok {
		f, _, err := v.openDescriptor(number)
		if errors.Is(err, unix.EBADF) {
			err = unix.ENOENT
		}
		return f, err
	}
	return openName(unix.AT_FDCWD, string(v)+"/exe", 0)
}

// ownProgram is the name by which a process knows its own program.
const ownProgram = "/proc/self/exe"

// hasProc reports whether /proc is the kernel's in the root of the process, without mounts on what it says of this
// process, and if devices also whether /dev/fd leads to it.
func (v view) hasProc(root int, devices bool) bool {
	proc, err := unix.Openat2(root, "/proc", &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return false
	}
	defer closeFile(proc)
	var info unix.Statfs_t
	if err := unix.Fstatfs(proc, &info); err != nil || info.Type != unix.PROC_SUPER_MAGIC {
		return false
	}
	status, err := os.ReadFile(string(v) + "/status")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(status, []byte("\nNSpid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	for _, pid := range bytes.Fields(line) { // which of them this /proc shows is not known
		for _, name := range []string{string(pid), string(pid) + "/fd", string(pid) + "/exe"} {
			fd, err := unix.Openat2(proc, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_BENEATH})
			if err == nil {
				closeFile(fd)
			} else if err != unix.ENOENT {
				return false
			}
		}
	}
	if !devices {
		return true
	}
	fd, err := unix.Openat2(root, "/dev/fd", &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return false
	}
	defer closeFile(fd)
	target := make([]byte, len(ownDescriptors)+1)
	n, err := unix.Readlinkat(fd, "", target)
	return err == nil && string(target[:n]) == ownDescriptors
}

// ownDescriptors is the target of /dev/fd.
const ownDescriptors = "/proc/self/fd"

// descriptorIn returns the number in a name such as /proc/self/fd/3.
func descriptorIn(name string) (number string, ok bool) {
	for _, folder := range []string{ownDescriptors + "/", "/proc/thread-self/fd/", "/dev/fd/"} {
		if number, ok := strings.CutPrefix(name, folder); ok {
			_, err := strconv.ParseUint(number, 10, 31)
			return number, err == nil
		}
	}
	return "", false
}

func (v view) openDescriptor(number string) (opened, string, error) {
	link := string(v) + "/fd/" + number
	name, err := os.Readlink(link)
	if err != nil {
		return opened{}, "", unix.EBADF
	}
	f, err := openName(unix.AT_FDCWD, link, 0)
	return f, name, err
}

// maxLinks is how many symbolic links the kernel follows for a name.
const maxLinks = 40

// walk opens a file by its name, from a folder of the process, which need not be below its root.
func (v view) walk(root, folder int, name string) (opened, error) {
	at, err := copyOf(folder)
	if err != nil {
		return opened{}, err
	}
	rest := name
	for links := 0; rest != ""; {
		part, after, more := strings.Cut(rest, "/")
		rest = after
		if part == "" || part == "." || part == ".." && isSameFolder(at, root) {
			continue
		}
		fd, err := unix.Openat(at, part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			closeFile(at)
			return opened{}, knownError(err)
		}
		link, isLink, err := readLink(fd)
		switch {
		case err != nil:
		case isLink:
			if links++; links > maxLinks {
				err = unix.ELOOP
				break
			}
			closeFile(fd)
			if more {
				link += "/" + after
			}
			if isOwn(link) {
				closeFile(at)
				return v.openOwn(root, link)
			}
			if rest = link; path.IsAbs(link) {
				closeFile(at)
				if at, err = copyOf(root); err != nil {
					return opened{}, err
				}
			}
			continue
		case more:
			var info unix.Stat_t
			if err = unix.Fstat(fd, &info); err == nil && info.Mode&unix.S_IFMT != unix.S_IFDIR {
				err = unix.ENOTDIR
			}
		}
		closeFile(at)
		if err != nil {
			closeFile(fd)
			return opened{}, knownError(err)
		}
		at = fd
	}
	return named(at, name), nil
}

func copyOf(folder int) (int, error) {
	fd, err := unix.FcntlInt(uintptr(folder), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		err = errors.Join(errUnknownFile, err)
	}
	return fd, err
}

// isSameFolder reports whether two descriptors are the same folder in the same mount.
func isSameFolder(a, b int) bool {
	var one, other unix.Statx_t
	const what = unix.STATX_INO | unix.STATX_MNT_ID
	return unix.Statx(a, "", unix.AT_EMPTY_PATH, what, &one) == nil && unix.Statx(b, "", unix.AT_EMPTY_PATH, what, &other) == nil &&
		one.Ino == other.Ino && one.Mnt_id == other.Mnt_id && one.Dev_major == other.Dev_major && one.Dev_minor == other.Dev_minor
}

// readLink returns the target of a symbolic link. Those of /proc are an error: they may lead elsewhere.
func readLink(fd int) (target string, isLink bool, err error) {
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil || info.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", false, err
	}
	var system unix.Statfs_t
	if err := unix.Fstatfs(fd, &system); err != nil {
		return "", true, err
	}
	if system.Type == unix.PROC_SUPER_MAGIC {
		return "", true, errLinkOfProc
	}
	text := make([]byte, maxPath)
	n, err := unix.Readlinkat(fd, "", text)
	return string(text[:max(n, 0)]), true, err
}

var errLinkOfProc = errors.New("a link of /proc leads to it")

// maxTries is how often a name is looked up again that leads upwards while anything on this machine is renamed.
const maxTries = 1000

// openName opens a file by its name, without reading it.
func openName(folder int, name string, resolve uint64) (opened, error) {
	var fd int
	err := error(unix.EAGAIN)
	for tries := 0; errors.Is(err, unix.EAGAIN) && tries < maxTries; tries++ {
		fd, err = unix.Openat2(folder, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve})
	}
	if err != nil {
		return opened{}, knownError(err)
	}
	return named(fd, name), nil
}

// knownError returns an error of the kernel that the process gets too, and else one that says that the file is not
// known.
func knownError(err error) error {
	if slices.Contains([]error{unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.ENAMETOOLONG, unix.ELOOP, unix.EINVAL}, err) {
		return err
	}
	return errors.Join(errUnknownFile, err)
}

// named returns the file of a descriptor.
func named(fd int, name string) opened {
	f := opened{File: os.NewFile(uintptr(fd), name)}
	if real, err := os.Readlink(f.link()); err == nil && path.IsAbs(real) {
		f.name = real
	}
	return f
}

// link returns a path to the file for this process.
func (f opened) link() string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }
