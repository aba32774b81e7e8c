//go:build !portable

package enter

const sysSeccomp = 317

// ABIs are the interfaces of this machine. x32 is refused: its numbers have a bit of their own, and
// some kernels accept its calls without the bit.
var ABIs = []ABI{
	{Arch: 0xc000003e, Exec: 59, ExecAt: 322, Pointer: 8, otherBit: 0x40000000, refused: []uint32{520, 545}},
	{Arch: 0x40000003, Exec: 11, ExecAt: 358, Pointer: 4}, // i386
}
