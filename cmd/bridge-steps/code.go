//go:build linux && amd64

package main

import (
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// kind is what becomes of a function's instructions.
type kind uint8

const (
	counted kind = iota
	over         // of Go's runtime: it runs to its end at once, and counts by the call
	chance       // of the runtime, too, called or not as chance has it: counts nothing
	through      // of the runtime, too, and calls functions that are counted
	more         // of the runtime: makes room on the stack, or gives way, and has its caller begin again
	mark         // where counting begins and ends
)

// function is a function's place in the program.
type function struct {
	name       string
	start, end uint64
	kind       kind
}

// code is what functions there are, by their place. It does not change.
type code []function

// readCode reads the table that each Go program has of its functions.
func readCode(path string) (*code, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if err != nil {
		return nil, err
	}
	table, text := f.Section(".gopclntab"), f.Section(".text")
	if table == nil || text == nil {
		return nil, fmt.Errorf("%s has no table of its functions", path)
	}
	data, err := table.Data()
	if err != nil {
		return nil, err
	}
	symbols, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, err
	}
	all := make(code, 0, len(symbols.Funcs))
	for _, s := range symbols.Funcs {
		file, _, _ := symbols.PCToLine(s.Entry)
		all = append(all, function{s.Name, s.Entry, s.End, kindOf(s.Name, file)})
	}
	slices.SortFunc(all, func(a, b function) int { return int(a.start) - int(b.start) })
	if !slices.ContainsFunc(all, func(f function) bool { return f.kind == mark }) {
		return nil, errors.New("nothing in the program says where counting begins")
	}
	return &all, nil
}

// search is what looks for a byte. It is not the runtime's, and counts like it: a long line
// would be a step for each four bytes.
const search = "indexbytebody"

// callN are what reflectcall goes on with, by the size of the arguments.
var callN = regexp.MustCompile(`^runtime\.call[0-9]+$`)

// kindOf goes by the file in which a function is written: many of the runtime have the names
// of other packages, such as time.now.
func kindOf(name, file string) kind {
	switch {
	case name == search:
		return over
	case !strings.Contains(file, "/src/runtime/") && !strings.Contains(file, "/src/internal/runtime/"):
		return counted
	case name == "runtime.breakpoint":
		return mark
	case strings.HasPrefix(name, "runtime.morestack"):
		return more
	case strings.HasPrefix(name, "runtime.duff"): // entered in the middle, and always the same
		return counted
	case name == "runtime.typeAssert", name == "runtime.interfaceSwitch":
		return chance // what they find out is kept for the next time in one of a thousand calls
	case slices.Contains([]string{"runtime.deferreturn", "reflect.call", "runtime.reflectcall"}, name), callN.MatchString(name):
		return through
	}
	return over
}

// at is the function in which an instruction lies.
func (c code) at(pc uint64) (*function, error) {
	i, found := slices.BinarySearchFunc(c, pc, func(f function, pc uint64) int { return int(f.start) - int(pc) })
	if !found {
		i--
	}
	if i < 0 || pc >= c[i].end {
		return nil, fmt.Errorf("the instruction at %#x is in no function of Go's", pc)
	}
	return &c[i], nil
}
