//go:build !portable

package supervise

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machineCode is a program for amd64 or i386 that calls execve with one of their interfaces, and ends with the
// number of the error.
type machineCode struct {
	name   string
	is32   bool // the file
	number uint32
	x86    bool // int 0x80; else syscall
	// native reports that each kernel has this interface.
	native bool
}

const (
	codeAt   = 0x400000 // address of the file's first byte
	pathAt   = 0x400200
	markerAt = 0x400300
	listAt   = 0x400400
)

// file returns the executable. It runs touch with a file.
func (m machineCode) file(touch, file string) []byte {
	le := binary.LittleEndian
	header := make([]byte, 0x40)
	copy(header, "\x7fELF\x02\x01\x01")
	le.PutUint16(header[16:], 2) // executable
	le.PutUint16(header[18:], 62)
	le.PutUint32(header[20:], 1)
	const size = 0x1000
	var program []byte
	if m.is32 {
		header = header[:52]
		header[4] = 1
		le.PutUint16(header[18:], 3)
		le.PutUint32(header[24:], codeAt+0x100)
		le.PutUint32(header[28:], 52)
		le.PutUint16(header[40:], 52)
		le.PutUint16(header[42:], 32)
		le.PutUint16(header[44:], 1)
		for _, field := range []uint32{1, 0, codeAt, codeAt, size, size, 7, 0x1000} {
			program = le.AppendUint32(program, field)
		}
	} else {
		le.PutUint64(header[24:], codeAt+0x100)
		le.PutUint64(header[32:], 0x40)
		le.PutUint16(header[52:], 0x40)
		le.PutUint16(header[54:], 56)
		le.PutUint16(header[56:], 1)
		program = le.AppendUint32(le.AppendUint32(nil, 1), 7)
		for _, field := range []uint64{0, codeAt, codeAt, size, size, 0x1000} {
			program = le.AppendUint64(program, field)
		}
	}
	all := make([]byte, size)
	copy(all, append(header, program...))
	move := func(code []byte, register byte, value uint32) []byte {
		return le.AppendUint32(append(code, 0xb8+register), value)
	}
	const ax, cx, dx, bx, si, di = 0, 1, 2, 3, 6, 7
	var code []byte
	if m.x86 {
		code = move(move(move(move(code, ax, m.number), bx, pathAt), cx, listAt), dx, 0)
		code = append(code, 0xcd, 0x80, 0x89, 0xc3, 0xf7, 0xdb) // int 0x80; mov ebx, eax; neg ebx
		code = append(move(code, ax, 1), 0xcd, 0x80)
	} else {
		code = move(move(move(move(code, ax, m.number), di, pathAt), si, listAt), dx, 0)
		code = append(code, 0x0f, 0x05, 0x89, 0xc7, 0xf7, 0xdf) // syscall; mov edi, eax; neg edi
		code = append(move(code, ax, 60), 0x0f, 0x05)
	}
	copy(all[0x100:], code)
	copy(all[pathAt-codeAt:], touch)
	copy(all[markerAt-codeAt:], file)
	list := all[listAt-codeAt:]
	if m.x86 || m.number&^0x40000000 == 520 { // pointers of 4 bytes
		le.PutUint32(list, pathAt)
		le.PutUint32(list[4:], markerAt)
	} else {
		le.PutUint64(list, pathAt)
		le.PutUint64(list[8:], markerAt)
	}
	return all
}

// Other interfaces of the machine start no forbidden program either.
func TestOtherInterfaces(t *testing.T) {
	t.Parallel()
	for _, m := range []machineCode{
		{name: "amd64", number: 59, native: true},
		{name: "i386", is32: true, x86: true, number: 11},
		{name: "i386 in a program for amd64", x86: true, number: 11},
		{name: "x32", number: 520 | 0x40000000},
		{name: "x32 without its bit", number: 520},
		{name: "amd64 with the bit of x32", number: 59 | 0x40000000},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "program"), m.file("/usr/bin/touch", "marker"), 0o755); err != nil {
				t.Fatal(err)
			}
			made := func() bool { return os.Remove(filepath.Join(dir, "marker")) == nil }
			control := exec.Command("./program")
			control.Dir = dir
			out, err := control.CombinedOutput()
			runs := made()
			t.Log("runs without a supervisor: ", runs)
			if m.native && !runs {
				t.Fatalf("it does not run at all: %v %s", err, out)
			}
			const line = "./program; echo $?"
			one := trial{script: `bash -c "$LINE"; :`, calls: []Call{call(line)}, env: []string{"LINE=" + line}, dir: dir}
			r := one.run(t)
			if made() {
				t.Errorf("it started: %q, decided %v", r.out, r.starts)
			}
			if runs && (r.out != "1\n" || len(r.starts) != 2 || !strings.HasSuffix(r.starts[1].String(), "/usr/bin/touch marker")) {
				t.Errorf("%q, decided %v", r.out, r.starts)
			}
			if one.allow = true; m.number&0x40000000 == 0 && runs {
				if r := one.run(t); !made() {
					t.Errorf("it does not start if all is allowed: %q, decided %v", r.out, r.starts)
				}
			}
		})
	}
}
