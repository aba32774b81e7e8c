//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"runtime"

	"golang.org/x/sys/unix"
)

// maxSegments bounds the table of segments that the kernel reads, in bytes.
const maxSegments = 65536

// readLoader returns the path of the program that the kernel starts to load a file: that of its first PT_INTERP. It is
// empty for files without one, and for those that the kernel can't start. The error is one of reading.
func readLoader(fd int, head []byte) (string, error) {
	const (
		header32, segment32 = 52, 32
		header64, segment64 = 64, 56
	)
	if len(head) < header32 || !bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		return "", nil
	}
	// The kernel tells the two forms by the machine and the size of a segment, in its own byte order.
	order := binary.NativeEndian
	machine := elf.Machine(order.Uint16(head[18:]))
	if !runsHere(machine) {
		return "", nil
	}
	is64 := machine != elf.EM_386 && machine != elf.EM_486 && machine != elf.EM_ARM && len(head) >= header64 && order.Uint16(head[54:]) == segment64
	offset, size, count := uint64(order.Uint32(head[28:])), segment32, int(order.Uint16(head[44:]))
	if is64 {
		offset, size, count = order.Uint64(head[32:]), segment64, int(order.Uint16(head[56:]))
	} else if order.Uint16(head[42:]) != segment32 {
		return "", nil
	}
	if count == 0 || size*count > maxSegments {
		return "", nil
	}
	table := make([]byte, size*count)
	if n, err := readAt(fd, table, offset); err != nil || n < len(table) {
		return "", err
	}
	for ; len(table) > 0; table = table[size:] {
		if elf.ProgType(order.Uint32(table)) != elf.PT_INTERP {
			continue
		}
		at, length := uint64(order.Uint32(table[4:])), uint64(order.Uint32(table[16:]))
		if is64 {
			at, length = order.Uint64(table[8:]), order.Uint64(table[32:])
		}
		if length < 2 || length > maxPath {
			return "", nil
		}
		text := make([]byte, length)
		n, err := readAt(fd, text, at)
		if err != nil || n < len(text) {
			return "", err
		}
		name, _, _ := bytes.Cut(text, []byte{0})
		return string(name), nil
	}
	return "", nil
}

// runsHere reports whether the kernel loads programs of a machine.
func runsHere(machine elf.Machine) bool {
	if runtime.GOARCH == "amd64" {
		return machine == elf.EM_X86_64 || machine == elf.EM_386 || machine == elf.EM_486
	}
	return machine == elf.EM_AARCH64 || machine == elf.EM_ARM
}

// readAt reads at an offset that a file gives, which need not be one.
func readAt(fd int, into []byte, offset uint64) (int, error) {
	if offset > 1<<62 {
		return 0, nil
	}
	n, err := unix.Pread(fd, into, int64(offset))
	if err == unix.EINVAL {
		return 0, nil
	}
	return n, err
}
