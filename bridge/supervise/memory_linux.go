//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// The kernel accepts no more (PATH_MAX, MAX_ARG_STRLEN, and three quarters of the stack's usual limit).
const (
	maxPath  = 4096
	maxWord  = 32 * 4096
	maxWords = 6 << 20 // bytes of all words and their pointers
)

// memory reads the memory of a process.
type memory interface {
	// read reads as many bytes as there are from an address on, up to the length of p. It returns an error
	// if there are none.
	read(address uint64, p []byte) (int, error)
}

// process is the memory of a process.
type process int

func (pid process) read(address uint64, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := unix.ProcessVMReadv(int(pid), []unix.Iovec{iovec(p)}, []unix.RemoteIovec{{Base: uintptr(address), Len: len(p)}}, 0)
	if err == nil && n == 0 {
		err = unix.EFAULT
	}
	return n, err
}

func iovec(p []byte) unix.Iovec {
	v := unix.Iovec{Base: &p[0]}
	v.SetLen(len(p))
	return v
}

// pageSize is the smallest of a page: it can be read as a whole or not at all.
const pageSize = 4096

// pages reads memory by pages. It keeps the last one, since the words of a program follow each other.
type pages struct {
	memory memory
	kept   bool
	number uint64 // of the page that is kept
	page   [pageSize]byte
}

// from returns the bytes from an address to the end of its page.
func (p *pages) from(address uint64) ([]byte, error) {
	if number := address / pageSize; !p.kept || p.number != number {
		p.kept = false
		n, err := p.memory.read(number*pageSize, p.page[:])
		if err == nil && n < pageSize {
			err = unix.EFAULT
		}
		if err != nil {
			return nil, err
		}
		p.kept, p.number = true, number
	}
	return p.page[address%pageSize:], nil
}

// pointer returns the pointer of some bytes at an address.
func (p *pages) pointer(address uint64, size int) (uint64, error) {
	var whole [8]byte
	for n := 0; n < size; {
		part, err := p.from(address + uint64(n))
		if err != nil {
			return 0, err
		}
		n += copy(whole[n:size], part)
	}
	if size == 4 {
		return uint64(binary.NativeEndian.Uint32(whole[:])), nil
	}
	return binary.NativeEndian.Uint64(whole[:]), nil
}

// text returns the text that ends with a NUL. It returns tooLong if that has more bytes than limit, with the NUL.
func (p *pages) text(address uint64, limit int, tooLong unix.Errno) (string, error) {
	var text []byte
	for len(text) < limit {
		part, err := p.from(address)
		if err != nil {
			return "", err
		}
		part = part[:min(len(part), limit-len(text))]
		if end := bytes.IndexByte(part, 0); end >= 0 {
			return string(append(text, part[:end]...)), nil
		}
		text = append(text, part...)
		address += uint64(len(part))
	}
	return "", tooLong
}

// readWords returns the texts that a list of pointers leads to. The list ends with a null pointer; a
// null list is empty.
func readWords(m memory, address uint64, pointer int) ([]string, error) {
	if address == 0 {
		return nil, nil
	}
	var words []string
	list, texts := pages{memory: m}, pages{memory: m}
	for size := 0; ; address += uint64(pointer) {
		target, err := list.pointer(address, pointer)
		if err != nil || target == 0 {
			return words, err
		}
		word, err := texts.text(target, maxWord, unix.E2BIG)
		if err != nil {
			return nil, err
		}
		if size += len(word) + 1 + pointer; size > maxWords {
			return nil, unix.E2BIG
		}
		words = append(words, word)
	}
}

// target is the file of a call: a path from a folder or descriptor.
type target struct {
	folder int32 // descriptor of execveat; atFolder otherwise
	path   string
	empty  bool // the descriptor is the file
}

// atFolder is AT_FDCWD.
const atFolder = -100

// readCall returns the file, the words and, if they are wanted, the environment of a call. The error is an errno as
// the kernel answers if there is no such memory or too much of it.
func readCall(m memory, n *notification, wantEnv bool) (file target, words, env []string, err error) {
	abi, isAt, ok := abiOf(n)
	if !ok {
		return target{}, nil, nil, fmt.Errorf("call %d of architecture %#x starts no program", n.call, n.arch)
	}
	file = target{folder: atFolder}
	args := n.args[:]
	if isAt {
		const emptyPath = 0x1000 // AT_EMPTY_PATH
		file.folder, file.empty = int32(uint32(args[0])), args[4]&emptyPath != 0
		args = args[1:]
	}
	mask := uint64(1)<<(8*abi.Pointer-1)<<1 - 1
	if file.path, err = (&pages{memory: m}).text(args[0]&mask, maxPath, unix.ENAMETOOLONG); err != nil {
		return target{}, nil, nil, fmt.Errorf("its path: %w", err)
	}
	file.empty = file.empty && file.path == ""
	if words, err = readWords(m, args[1]&mask, abi.Pointer); err != nil {
		return file, nil, nil, fmt.Errorf("its words: %w", err)
	}
	if wantEnv {
		if env, err = readWords(m, args[2]&mask, abi.Pointer); err != nil {
			return file, words, nil, fmt.Errorf("its environment: %w", err)
		}
	}
	return file, words, env, nil
}
