//go:build !portable

package enter

const sysSeccomp = 277

// ABIs are the interfaces of this machine.
var ABIs = []ABI{
	{Arch: 0xc00000b7, Exec: 221, ExecAt: 281, Pointer: 8},
	{Arch: 0x40000028, Exec: 11, ExecAt: 387, Pointer: 4}, // 32-bit ARM
}
