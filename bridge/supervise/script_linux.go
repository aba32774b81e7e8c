//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bytes"
	"errors"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// maxScripts is how many interpreters the kernel follows.
const maxScripts = 5

// headSize is how much of a file the kernel reads to find out what it is (BINPRM_BUF_SIZE).
const headSize = 256

// programs returns the program of a call, and for a script those that the kernel runs with it. The
// error is an errno that the call gets in place of an answer of the kernel: it is the same, since both
// look for the file in the same way. Another error says why the file is not known.
func (v view) programs(file target, words []string) ([]Program, error) {
	dir, err := os.Readlink(string(v) + "/cwd")
	if err != nil {
		return nil, errors.Join(errUnknownFile, err)
	}
	opened, name, err := v.open(file, dir)
	if err != nil {
		return []Program{{Path: name, Args: words, Dir: dir}}, err
	}
	all := []Program{{Path: name, File: opened.name, Args: words, Dir: dir}}
	script := file.path // as the kernel gives it to an interpreter
	if file.empty || file.folder != atFolder && !path.IsAbs(script) {
		script = name
	}
	for {
		head, err := opened.head()
		opened.Close()
		if err != nil {
			return all, err
		}
		interpreter, options, ok := readScriptLine(head)
		if !ok {
			return all, nil
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
		next := Program{Path: interpreter, Args: args, Dir: dir}
		if opened, next.Path, err = v.open(target{folder: atFolder, path: interpreter}, dir); err != nil {
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

// head returns the first bytes of the file. A file that this user owns must be readable. Others can't be
// written by the commands of Codex, and programs that only root may read are no scripts.
func (f opened) head() ([]byte, error) {
	var info unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &info); err != nil {
		return nil, errors.Join(errUnknownFile, err)
	}
	if info.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, unix.EACCES // as the kernel answers
	}
	fd, err := unix.Open(f.link(), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err == unix.EACCES && int(info.Uid) != os.Geteuid() {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Join(errUnknownFile, err)
	}
	defer closeFile(fd)
	head := make([]byte, headSize)
	n, err := unix.Pread(fd, head, 0)
	if err != nil {
		return nil, errors.Join(errUnknownFile, err)
	}
	return head[:n], nil
}
