//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// The kernel accepts no more (PATH_MAX, MAX_ARG_STRLEN, and three quarters of the stack's usual limit).
const (
	maxPath  = 4096
	maxWord  = 32 * 4096
	maxWords = 6 << 20 // bytes of all words and their pointers
)

// pageSize is the smallest of a page: it can be read as a whole or not at all.
const pageSize = 4096

// page is a page of a process.
type page struct {
	number uint64 // its address is a multiple of pageSize
	isRead bool
	text   [pageSize]byte
}

// memory reads the memory of a process.
type memory interface {
	// read reads pages up to the first that can't be read. It returns how many, and an error if there are none. There are
	// at most maxTogether.
	read(pages ...*page) (int, error)
}

// maxTogether is how many pages are read by one call.
const maxTogether = 2

// process is the memory of a process.
type process int

func (pid process) read(pages ...*page) (int, error) {
	var here [maxTogether]unix.Iovec
	var there [maxTogether]unix.RemoteIovec
	for i, one := range pages {
		here[i] = iovec(one.text[:])
		there[i] = unix.RemoteIovec{Base: uintptr(one.number * pageSize), Len: pageSize}
	}
	n, err := unix.ProcessVMReadv(int(pid), here[:len(pages)], there[:len(pages)], 0)
	if err == nil && n < pageSize {
		err = unix.EFAULT
	}
	return n / pageSize, err
}

// readAt reads as many bytes as there are from an address on, up to the length of p.
func (pid process) readAt(address uint64, p []byte) (int, error) {
	return unix.ProcessVMReadv(int(pid), []unix.Iovec{iovec(p)}, []unix.RemoteIovec{{Base: uintptr(address), Len: len(p)}}, 0)
}

func iovec(p []byte) unix.Iovec {
	v := unix.Iovec{Base: &p[0]}
	v.SetLen(len(p))
	return v
}

// pages reads memory by pages. It keeps the latest ones: the path, the list of the words and the words are often in the
// same few.
type pages struct {
	memory memory
	kept   [4]page
	next   int // of kept, is replaced next
}

// unused are pages for other processes.
var unused = sync.Pool{New: func() any { return new(pages) }}

// pagesOf returns the pages of a process. They must be released.
func pagesOf(pid uint32) *pages {
	p := unused.Get().(*pages)
	p.memory = process(pid)
	return p
}

func (p *pages) release() {
	for i := range p.kept {
		p.kept[i].isRead = false
	}
	unused.Put(p)
}

// find returns the page of a number; nil if it is not kept.
func (p *pages) find(number uint64) *page {
	for i := range p.kept {
		if one := &p.kept[i]; one.isRead && one.number == number {
			return one
		}
	}
	return nil
}

// replace returns the oldest page, for another number.
func (p *pages) replace(number uint64) *page {
	one := &p.kept[p.next]
	p.next = (p.next + 1) % len(p.kept)
	one.isRead, one.number = false, number
	return one
}

// expect reads the pages of two addresses by one call. If that fails, from reads them again.
func (p *pages) expect(a, b uint64) {
	if a /= pageSize; p.find(a) != nil {
		return
	}
	if b /= pageSize; a == b || p.find(b) != nil {
		return
	}
	first, second := p.replace(a), p.replace(b)
	n, err := p.memory.read(first, second)
	first.isRead, second.isRead = err == nil && n > 0, err == nil && n > 1
}

// from returns the bytes from an address to the end of its page.
func (p *pages) from(address uint64) ([]byte, error) {
	one := p.find(address / pageSize)
	if one == nil {
		one = p.replace(address / pageSize)
		if _, err := p.memory.read(one); err != nil {
			return nil, err
		}
		one.isRead = true
	}
	return one.text[address%pageSize:], nil
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
			if text == nil {
				return string(part[:end]), nil
			}
			return string(append(text, part[:end]...)), nil
		}
		text = append(text, part...)
		address += uint64(len(part))
	}
	return "", tooLong
}

// words returns the texts that a list of pointers leads to. The list ends with a null pointer; a null list is empty.
func (p *pages) words(address uint64, pointer int) ([]string, error) {
	if address == 0 {
		return nil, nil
	}
	var words []string
	for size := 0; ; address += uint64(pointer) {
		target, err := p.pointer(address, pointer)
		if err != nil || target == 0 {
			return words, err
		}
		word, err := p.text(target, maxWord, unix.E2BIG)
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

// execCall is what a notification reports.
type execCall struct {
	folder          int32 // descriptor of execveat; atFolder otherwise
	mayBeEmpty      bool  // then the descriptor is the file
	path, args, env uint64
	pointer         int // bytes of one
}

// callOf returns the call of a notification.
func callOf(n *notification) (execCall, error) {
	abi, isAt, ok := abiOf(n)
	if !ok {
		return execCall{}, fmt.Errorf("call %d of architecture %#x starts no program", n.call, n.arch)
	}
	c, args := execCall{folder: atFolder, pointer: abi.Pointer}, n.args[:]
	if isAt {
		const emptyPath = 0x1000 // AT_EMPTY_PATH
		c.folder, c.mayBeEmpty = int32(uint32(args[0])), args[4]&emptyPath != 0
		args = args[1:]
	}
	mask := uint64(1)<<(8*abi.Pointer-1)<<1 - 1
	c.path, c.args, c.env = args[0]&mask, args[1]&mask, args[2]&mask
	return c, nil
}

// file returns the file of a call. The error is an errno as the kernel answers if there is no such memory or too much of
// it.
func (p *pages) file(c execCall) (target, error) {
	p.expect(c.path, c.args)
	path, err := p.text(c.path, maxPath, unix.ENAMETOOLONG)
	if err != nil {
		return target{}, fmt.Errorf("its path: %w", err)
	}
	return target{c.folder, path, c.mayBeEmpty && path == ""}, nil
}

// lists returns the words and, if it is wanted and they may be a command, the environment of a call. The errors are as
// for file.
func (p *pages) lists(c execCall, wantEnv bool) (words, env []string, err error) {
	if words, err = p.words(c.args, c.pointer); err != nil {
		return nil, nil, fmt.Errorf("its words: %w", err)
	}
	if wantEnv && len(words) >= minCommand {
		if env, err = p.words(c.env, c.pointer); err != nil {
			return words, nil, fmt.Errorf("its environment: %w", err)
		}
	}
	return words, env, nil
}
