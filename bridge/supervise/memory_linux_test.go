//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/supervise/enter"
)

// fakeMemory is the memory of a process: its pages by their numbers.
type fakeMemory map[uint64]*[pageSize]byte

func (m fakeMemory) read(pages ...*page) (n int, err error) {
	for _, one := range pages {
		text := m[one.number]
		if text == nil {
			break
		}
		one.text = *text
		n++
	}
	if n == 0 {
		return 0, unix.EFAULT
	}
	return n, nil
}

// write maps pages and writes to them.
func (m fakeMemory) write(address uint64, text []byte) {
	for len(text) > 0 {
		page := m[address/pageSize]
		if page == nil {
			page = new([pageSize]byte)
			m[address/pageSize] = page
		}
		n := copy(page[address%pageSize:], text)
		text, address = text[n:], address+uint64(n)
	}
}

// list returns a list of pointers that ends.
func list(size int, pointers ...uint64) (raw []byte) {
	for _, one := range append(pointers, 0) {
		if size == 4 {
			raw = binary.NativeEndian.AppendUint32(raw, uint32(one))
		} else {
			raw = binary.NativeEndian.AppendUint64(raw, one)
		}
	}
	return raw
}

func TestReadWords(t *testing.T) {
	t.Parallel()
	for _, size := range []int{4, 8} {
		const end = 10 * pageSize // of a mapping
		m := fakeMemory{}
		m.write(5*pageSize-3, []byte("word over pages\x00"))
		m.write(end-4, []byte("end\x00"))
		m.write(7*pageSize, bytes.Repeat([]byte("x"), 2*pageSize))
		m.write(0x100*pageSize, append(bytes.Repeat([]byte("y"), maxWord), 0))
		m.write(0x200*pageSize, append(bytes.Repeat([]byte("z"), maxWord-1), 0))
		at := uint64(0x300*pageSize - size - 1) // the list is over pages, and not aligned
		for _, test := range []struct {
			list []byte
			want []string
			err  error
		}{
			{list(size), nil, nil},
			{list(size, 5*pageSize-3, end-4, end-1), []string{"word over pages", "end", ""}, nil},
			{list(size, 5*pageSize-3, end), nil, unix.EFAULT},
			{list(size, 0x100*pageSize), nil, unix.E2BIG},
			{list(size, 0x200*pageSize), []string{strings.Repeat("z", maxWord-1)}, nil},
			{list(size, slices.Repeat([]uint64{0x200 * pageSize}, maxWords/maxWord+1)...), nil, unix.E2BIG},
			{list(size, slices.Repeat([]uint64{end - 1}, maxWords/(size+1)+1)...), nil, unix.E2BIG},
			{bytes.Repeat([]byte{1}, size), nil, unix.EFAULT},
		} {
			m.write(at, test.list)
			words, err := (&pages{memory: m}).words(at, size)
			if !slices.Equal(words, test.want) || !errors.Is(err, test.err) {
				t.Errorf("pointers of %d bytes, list %.20x: %.30q %v, want %.30q %v", size, test.list, words, err, test.want, test.err)
			}
		}
		m.write(end-uint64(size), list(size)[:size-1]) // it ends with the mapping
		for _, address := range []uint64{1, end, end + 1, 1<<64 - 1, 1<<64 - pageSize, 1 << 63} {
			if words, err := (&pages{memory: m}).words(address, size); !errors.Is(err, unix.EFAULT) {
				t.Errorf("%#x: %q %v", address, words, err)
			}
		}
	}
	if words, err := (&pages{memory: fakeMemory{}}).words(0, 8); words != nil || err != nil {
		t.Errorf("a null list: %q %v", words, err)
	}
}

// FuzzReadCall reads calls of processes whose memory is made of the input.
func FuzzReadCall(f *testing.F) {
	f.Add([]byte("path\x00"), []byte{}, uint64(0x10000), uint64(0), uint64(0), uint64(0), uint64(0), uint8(0))
	f.Add([]byte("a\x00b\x00"), list(8, 0x10002, 0x10002), uint64(0x10000), uint64(0x20000), uint64(0x20000), uint64(0), uint64(0), uint8(0))
	f.Add([]byte("\x00"), list(4, 0x10000), uint64(3), uint64(0x10000), uint64(0x20000), uint64(0x20000), uint64(0x1000), uint8(3))
	f.Add([]byte("x"), list(8, 0x20000, 0x20003), uint64(0x1ffff), uint64(0x20001), uint64(0x20fff), uint64(1), uint64(2), uint8(1))
	f.Add(bytes.Repeat([]byte("/"), maxPath), list(8, 1<<63, 1<<64-1), uint64(0x10000), uint64(0x20000), uint64(0), uint64(0), uint64(0), uint8(0))
	f.Fuzz(func(t *testing.T, text, pointers []byte, a, b, c, d, e uint64, kind uint8) {
		m := fakeMemory{}
		m.write(0x10000, text[:min(len(text), 0x10000)])
		m.write(0x20000, pointers[:min(len(pointers), 0x10000)])
		for i := range uint64(0x20) { // the lists may lead everywhere, also to themselves
			if page := m[0x20+i]; page != nil && kind&4 != 0 {
				m[0x30+i] = page
			}
		}
		abi := enter.ABIs[int(kind&1)]
		n := notification{arch: abi.Arch, call: abi.Exec, args: [6]uint64{a, b, c, d, e}}
		if kind&2 != 0 {
			n.call = abi.ExecAt
		}
		called, err := callOf(&n)
		if err != nil {
			t.Fatal(err)
		}
		read := &pages{memory: m}
		file, err := read.file(called)
		var words, env []string
		if err == nil {
			words, env, err = read.lists(called, kind&8 != 0)
		}
		if err != nil {
			if !errors.Is(err, unix.EFAULT) && !errors.Is(err, unix.E2BIG) && !errors.Is(err, unix.ENAMETOOLONG) {
				t.Errorf("another error than the kernel's: %v", err)
			}
			return
		}
		for _, all := range [][]string{words, env} {
			size := 0
			for _, word := range all {
				if size += len(word) + 1 + abi.Pointer; strings.Contains(word, "\x00") || len(word) >= maxWord {
					t.Errorf("a word of %d bytes: %.20q", len(word), word)
				}
			}
			if size > maxWords {
				t.Errorf("%d bytes", size)
			}
		}
		if strings.Contains(file.path, "\x00") || len(file.path) >= maxPath || file.empty && (file.path != "" || kind&2 == 0 || e&0x1000 == 0) {
			t.Errorf("%+v", file)
		}
		again := fakeMemory{}
		address := uint64(0x10000)
		var at []uint64
		for _, word := range words {
			again.write(address, append([]byte(word), 0))
			at = append(at, address)
			address += uint64(len(word)) + 1
		}
		if list := list(8, at...); len(words) > 0 && len(words) < 1000 {
			again.write(1<<32, list)
			if same, err := (&pages{memory: again}).words(1<<32, 8); err != nil || !slices.Equal(same, words) {
				t.Errorf("%q, written anew: %q %v", words, same, err)
			}
		}
	})
}
