//go:build !portable && (amd64 || arm64)

package supervise

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// view is what a process that waits sees: its root, its folders and its descriptors.
type view string // its folder in /proc

func viewOf(pid uint32) view { return view("/proc/" + strconv.FormatUint(uint64(pid), 10)) }

// errUnknownFile is the failure of a program whose file the bridge can't determine.
var errUnknownFile = errors.New("its file can't be determined")

// opened is a file of a process that waits, which must be closed.
type opened struct {
	fd   int
	name string // without links; "" if it has none
}

func (f opened) close() { closeFile(f.fd) }

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
		if dir, err = readLinkAt(unix.AT_FDCWD, link); err != nil {
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
	defer f.close()
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

// openAbsolute opens a file by its absolute name. The kernel follows no link of /proc here: those lead to this process,
// not to the one that waits.
func (v view) openAbsolute(root int, name string) (opened, error) {
	f, err := openName(root, name, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_SYMLINKS)
	if !errors.Is(err, unix.ELOOP) {
		return f, err
	}
	if !isOfProc(root) { // a /proc below is another mount
		if f, err = openName(root, name, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_XDEV); !errors.Is(err, errUnknownFile) {
			return f, err
		}
	}
	return v.walk(root, root, name)
}

func (v view) openDescriptor(number string) (opened, string, error) {
	link := string(v) + "/fd/" + number
	name, err := nameBehind(unix.AT_FDCWD, link)
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
		link, behind, err := v.readLink(at, fd, part)
		if behind >= 0 {
			closeFile(fd)
			fd = behind
		}
		switch {
		case err != nil:
		case link != "":
			if links++; links > maxLinks {
				err = unix.ELOOP
				break
			}
			closeFile(fd)
			if more {
				link += "/" + after
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
	return named(at), nil
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
	return named(fd), nil
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
func named(fd int) opened {
	f := opened{fd: fd}
	if real, err := nameBehind(descriptors(), strconv.Itoa(fd)); err == nil && path.IsAbs(real) {
		f.name = real
	}
	return f
}

// nameBehind returns the name of the file behind a link of /proc. One that was removed has its last name.
func nameBehind(folder int, link string) (string, error) {
	name, err := readLinkAt(folder, link)
	return strings.TrimSuffix(name, " (deleted)"), err
}

// descriptors returns the folder of the files that this process has open; -1 if there is none.
var descriptors = sync.OnceValue(func() int {
	fd, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
})

// readLinkAt returns the target of a link.
func readLinkAt(folder int, name string) (string, error) {
	var target [maxPath]byte // no link is longer
	n, err := unix.Readlinkat(folder, name, target[:])
	if err == nil && n == len(target) {
		err = unix.ENAMETOOLONG
	}
	if err != nil {
		return "", err
	}
	return string(target[:n]), nil
}
