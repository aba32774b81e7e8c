//go:build !portable

package supervise

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// elfFile returns a program for amd64 that ends with status 7. With a loader, the kernel starts that in its place.
func elfFile(kind uint16, loader string) []byte {
	le := binary.LittleEndian
	const address, size, start, name = 0x400000, 0x1000, 0x200, 0x300
	base := uint64(address)
	if kind == 3 {
		base = 0
	}
	file := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, size-7)...)
	le.PutUint16(file[16:], kind) // executable, or for any address
	le.PutUint16(file[18:], 62)
	le.PutUint32(file[20:], 1)
	le.PutUint64(file[24:], base+start)
	le.PutUint64(file[32:], 64)
	le.PutUint16(file[52:], 64)
	le.PutUint16(file[54:], 56)
	segments := [][]uint64{{1 | 5<<32, 0, base, base, size, size, size}}
	if loader != "" {
		segments = append(segments, []uint64{3 | 4<<32, name, base + name, base + name, uint64(len(loader) + 1), uint64(len(loader) + 1), 1})
	}
	le.PutUint16(file[56:], uint16(len(segments)))
	at := 64
	for _, segment := range segments {
		for _, field := range segment {
			le.PutUint64(file[at:], field)
			at += 8
		}
	}
	copy(file[start:], "\xb8\x3c\x00\x00\x00\xbf\x07\x00\x00\x00\x0f\x05") // exit(7)
	copy(file[name:], loader)
	return file
}

// A program in the place of the loader of another one runs with its words, and is decided.
func TestProgramInPlaceOfLoader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, file []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("touch", elfFile(2, ""))
	write("x", elfFile(3, filepath.Join(dir, "touch")))
	write("relative", elfFile(3, "touch"))
	if err := os.Symlink(filepath.Join(dir, "touch"), filepath.Join(dir, "ld-linux.so.2")); err != nil {
		t.Fatal(err)
	}
	write("link", elfFile(3, filepath.Join(dir, "ld-linux.so.2")))
	write("missing", elfFile(3, filepath.Join(dir, "none")))
	foreign := elfFile(3, filepath.Join(dir, "none"))
	binary.LittleEndian.PutUint16(foreign[18:], 183) // of arm64: its loader is not looked for
	write("foreign", foreign)
	for line, want := range map[string][2]string{
		"./x word":        {"7", "126"},
		"./relative word": {"7", "126"},
		"./link word":     {"7", "126"},
		"./missing word":  {"127", "127"},
		"./foreign word":  {"126", "126"},
		"/bin/true":       {"0", "0"},
	} {
		for i, allow := range []bool{true, false} {
			one := inCall(line + " 2> /dev/null; echo $?")
			one.dir, one.allow = dir, allow
			r := one.run(t)
			if got := strings.TrimSpace(r.out); got != want[i] {
				t.Errorf("%s ends with %q, want %q: %+v", line, got, want[i], r.starts)
			}
			for _, start := range r.starts {
				if words := start.Programs[len(start.Programs)-1].Args; line == "./x word" && (len(words) != 2 || words[1] != "word" || len(start.Programs) != 2) {
					t.Errorf("it decided about %+v", start.Programs)
				}
			}
		}
	}
}

// Files that are no programs have no loader, and reading them does not fail.
func FuzzReadLoader(f *testing.F) {
	f.Add(elfFile(3, "/lib/ld.so"))
	f.Add(elfFile(2, ""))
	f.Fuzz(func(t *testing.T, file []byte) {
		name := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(name, file, 0o600); err != nil {
			t.Fatal(err)
		}
		one, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		loader, err := readLoader(int(one.Fd()), file[:min(len(file), headSize)])
		if err != nil || len(loader) > maxPath || strings.Contains(loader, "\x00") {
			t.Errorf("%q %v", loader, err)
		}
	})
}
