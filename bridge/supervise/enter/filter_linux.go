//go:build !portable && (amd64 || arm64)

package enter

// instruction is one of classic BPF.
type instruction struct {
	code   uint16
	ifTrue uint8 // instructions to skip
	ifElse uint8
	k      uint32
}

// Opcodes.
const (
	load   = 0x20 // A = the word of seccomp_data at k
	isAll  = 0x15 // A == k
	answer = 0x06 // return k
)

// Offsets in seccomp_data.
const (
	offsetNumber = 0
	offsetArch   = 4
)

// Answers.
const (
	allow  = 0x7fff0000
	notify = 0x7fc00000
	refuse = 0x00050000 | 1 // EPERM
)

// ABI is a system call interface of this machine.
type ABI struct {
	Arch     uint32 // AUDIT_ARCH_…
	Exec     int32  // number of execve
	ExecAt   int32  // number of execveat
	Pointer  int    // bytes of a pointer
	refused  []uint32
	otherBit uint32 // marks the calls of an interface that is refused; 0: there is none
}

// getDescriptor is the number of pidfd_getfd in each ABI.
const getDescriptor = 438

// filter returns the program of the filter: it reports the two calls of each ABI that start a program.
// The calls of other interfaces that may start one are refused. So is pidfd_getfd, by which a process could get
// the listener from the bridge and answer itself.
func filter() []instruction {
	program := []instruction{{load, 0, 0, offsetArch}}
	for _, one := range ABIs {
		part := one.part()
		program = append(program, instruction{isAll, 0, uint8(len(part)), one.Arch})
		program = append(program, part...)
	}
	return append(program, instruction{answer, 0, 0, refuse}) // an architecture that this kernel can't run
}

// part returns the filter for the calls of one ABI.
func (a ABI) part() []instruction {
	program := []instruction{{load, 0, 0, offsetNumber}}
	if a.otherBit != 0 {
		var other []instruction
		for _, number := range []uint32{uint32(a.Exec), uint32(a.ExecAt)} {
			other = append(other, instruction{isAll, 0, 1, number | a.otherBit}, instruction{answer, 0, 0, refuse})
		}
		program = append(program, other...)
	}
	for _, number := range a.refused {
		program = append(program, instruction{isAll, 0, 1, number}, instruction{answer, 0, 0, refuse}, instruction{isAll, 0, 1, number | a.otherBit}, instruction{answer, 0, 0, refuse})
	}
	for _, number := range []int32{a.Exec, a.ExecAt} {
		program = append(program, instruction{isAll, 0, 1, uint32(number)}, instruction{answer, 0, 0, notify})
	}
	numbers := []uint32{getDescriptor}
	if a.otherBit != 0 {
		numbers = append(numbers, getDescriptor|a.otherBit)
	}
	for _, number := range numbers {
		program = append(program, instruction{isAll, 0, 1, number}, instruction{answer, 0, 0, refuse})
	}
	return append(program, instruction{answer, 0, 0, allow})
}
