//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bytes"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/rules"
)

// maxScripts is how many interpreters the kernel follows.
const maxScripts = 5

// headSize is how much of a file the kernel reads to find out what it is (BINPRM_BUF_SIZE).
const headSize = 256

// main returns the program of a call, without its words, and its file. The error is an errno that the call gets in place
// of an answer of the kernel: it is the same, since both look for the file in the same way. Another error says why the
// file is not known.
func (v view) main(file target) (Program, opened, error) {
	if path.IsAbs(file.path) { // most of these are missing, wherever the process is
		f, name, err := v.open(file, "")
		if err != nil && !errors.Is(err, errUnknownFile) {
			return Program{}, opened{}, err
		}
		dir, dirErr := v.folder()
		if dirErr != nil && err == nil {
			f.close()
		}
		return Program{Path: name, File: f.name, Dir: dir}, f, errors.Join(err, dirErr)
	}
	dir, err := v.folder()
	if err != nil {
		return Program{}, opened{}, err
	}
	f, name, err := v.open(file, dir)
	return Program{Path: name, File: f.name, Dir: dir}, f, err
}

// folder returns the working folder of the process.
func (v view) folder() (string, error) {
	dir, err := readLinkAt(unix.AT_FDCWD, string(v)+"/cwd")
	if err != nil {
		err = errors.Join(errUnknownFile, err)
	}
	return dir, err
}

// withInterpreters returns a program and, if its file is a script, those that the kernel runs with it. The errors are as
// for main. It closes the file.
func (v view) withInterpreters(main Program, opened opened, file target) ([]Program, error) {
	all := []Program{main}
	script := file.path // as the kernel gives it to an interpreter
	if file.empty || file.folder != atFolder && !path.IsAbs(script) {
		script = main.Path
	}
	for {
		var buffer [headSize]byte
		head, loader, err := opened.head(buffer[:])
		opened.close()
		if err != nil {
			return all, err
		}
		interpreter, options, ok := readScriptLine(head)
		if !ok {
			return v.withLoader(all, loader)
		}
		if len(all) > maxScripts {
			return all, unix.ELOOP
		}
		last := all[len(all)-1]
		args := slices.Concat([]string{interpreter}, options, []string{script}, last.Args[min(1, len(last.Args)):])
		script = interpreter
		if interpreter == "" {
			return all, unix.EACCES // the kernel takes the working folder
		}
		next := Program{Path: interpreter, Args: args, Dir: main.Dir}
		if opened, next.Path, err = v.open(target{folder: atFolder, path: interpreter}, main.Dir); err != nil {
			return append(all, next), err
		}
		next.File = opened.name
		all = append(all, next)
	}
}

// readScriptLine returns the interpreter of a file that begins with #!, and its options: none or one. It does the steps
// of the kernel (load_script), since they have corners: a line without an end may have an empty option.
func readScriptLine(file []byte) (interpreter string, options []string, ok bool) {
	var head [headSize]byte
	copy(head[:], file)
	if !bytes.HasPrefix(head[:], []byte("#!")) {
		return "", nil, false
	}
	isSpace := func(c byte) bool { return c == ' ' || c == '\t' }
	isWord := func(c byte) bool { return !isSpace(c) }
	isEnd := func(c byte) bool { return isSpace(c) || c == 0 }
	// next returns the first byte from begin to last, or -1.
	next := func(begin, last int, is func(byte) bool) int {
		for ; begin <= last; begin++ {
			if is(head[begin]) {
				return begin
			}
		}
		return -1
	}
	const last = headSize - 1
	end := bytes.IndexAny(head[:], "\n\x00")
	if end < 0 || head[end] == 0 {
		if begin := next(2, last, isWord); begin < 0 || next(begin, last, isEnd) < 0 {
			return "", nil, false // it may be longer
		}
		end = last
	}
	for isSpace(head[end-1]) {
		end--
	}
	begin := next(2, end, isWord)
	if begin < 0 || begin == end {
		return "", nil, false
	}
	after := next(begin, end, isEnd)
	if after >= 0 && head[after] != 0 {
		if option := next(after, end, isWord); option >= 0 {
			text, _, _ := bytes.Cut(head[option:end], []byte{0})
			options = []string{string(text)}
		}
	}
	if after < 0 {
		after = end
	}
	return string(head[begin:after]), options, true
}

// withLoader adds the program that the kernel starts with the words of the last one, to load it. Usual ones are left
// out. Another program in this place runs itself.
func (v view) withLoader(all []Program, name string) ([]Program, error) {
	if name == "" {
		return all, nil
	}
	last := all[len(all)-1]
	loader := Program{Path: name, Args: last.Args, Dir: last.Dir}
	file, full, err := v.open(target{folder: atFolder, path: name}, last.Dir)
	if loader.Path = full; err != nil {
		return append(all, loader), err
	}
	file.close()
	if loader.File = file.name; rules.IsLoader(path.Base(name)) && rules.IsLoader(path.Base(file.name)) {
		return all, nil
	}
	return append(all, loader), nil
}

// head returns the first bytes of the file, at most those of the buffer, and the loader of a program that has one. A
// file that this user owns must be readable. Those of root can't be written by the commands of Codex, and programs that
// only root may read are no scripts and need no other program.
func (f opened) head(buffer []byte) (head []byte, loader string, err error) {
	var info unix.Stat_t
	if err := unix.Fstat(f.fd, &info); err != nil {
		return nil, "", errors.Join(errUnknownFile, err)
	}
	if info.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, "", unix.EACCES // as the kernel answers
	}
	fd, err := unix.Openat(descriptors(), strconv.Itoa(f.fd), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if errors.Is(err, unix.EACCES) && info.Uid == 0 && os.Geteuid() != 0 {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", errors.Join(errUnknownFile, err)
	}
	defer closeFile(fd)
	n, err := unix.Pread(fd, buffer, 0)
	if err == nil {
		head = buffer[:n]
		loader, err = readLoader(fd, head)
	}
	if err != nil {
		return nil, "", errors.Join(errUnknownFile, err)
	}
	return head, loader, nil
}
