//go:build linux && amd64

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"syscall"
)

// What a call of Go's runtime counts. Its own instructions are not the same each time: it
// looks after all threads, hashes with another seed in each process, and copies as the
// processor likes it best.
const (
	perCall  = 50 // about what a small allocation or a look into a small map takes
	perBytes = 16 // so many that are copied, cleared or searched count one
)

// tally is what a function took.
type tally struct {
	own   int64 // instructions
	calls int64 // times that it was called, where it is the runtime's
	bytes int64 // that it has gone through, where it is for that
}

func (t tally) steps() int64 { return t.own + t.calls*perCall + t.bytes/perBytes }

// count is what a walk took, by function.
type count map[*function]*tally

func (c count) of(f *function) *tally {
	if c[f] == nil {
		c[f] = new(tally)
	}
	return c[f]
}

func (c count) steps() (n int64) {
	for _, t := range c {
		n += t.steps()
	}
	return n
}

// where says in which functions the most is.
func (c count) where(out io.Writer) {
	all := slices.SortedFunc(maps.Keys(c), func(a, b *function) int {
		return cmp.Or(cmp.Compare(c[b].steps(), c[a].steps()), cmp.Compare(a.name, b.name))
	})
	for _, f := range all[:min(len(all), 40)] {
		fmt.Fprintf(out, "%9d  %s\n", c[f].steps(), f.name)
	}
	fmt.Fprintf(out, "%9d  in all\n", c.steps())
}

// count walks a path in a process of its own, instruction by instruction.
//
// The other threads of the process run meanwhile, as they have to. They never do anything of
// the path, but one of them has the runtime tell the path to give way every 10 ms: that is
// what a function's first instructions look out for. When it does, these count as if it had
// not.
func (p *program) count(name string) (c count, err error) {
	runtime.LockOSThread() // a process is traced by a thread
	defer runtime.UnlockOSThread()
	proc, err := start(p.path, p.root, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, proc.kill()) }()
	if err := proc.run(); err != nil {
		return nil, err
	}
	c = make(count)
	var (
		begun  bool
		inside *function // where the first instructions of a function are counted
		first  int64     // how many of them
		again  uint64    // where a function begins once more
	)
	for {
		regs, err := proc.registers()
		if err != nil {
			return nil, err
		}
		f, err := p.code.at(regs.Rip)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		switch {
		case f.kind == mark && begun:
			return c, nil
		case f.kind == mark || f.kind == through:
		case f.kind == counted:
			begun = true
			if again != 0 && again != regs.Rip {
				break
			}
			again = 0
			if regs.Rip == f.start {
				inside, first = f, 0
			}
			c.of(f).own++
			first++
		default:
			back, err := proc.out(regs)
			if err != nil {
				return nil, fmt.Errorf("%s, in %s: %w", name, f.name, err)
			}
			if f.kind == more {
				// The runtime's own functions are told to give way, too.
				if caller, err := p.code.at(back); err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				} else if caller == inside {
					c.of(inside).own -= first
					again = inside.start
				}
				continue
			}
			if f.kind == chance {
				continue
			}
			n, err := proc.gone(f, regs)
			if err != nil {
				return nil, fmt.Errorf("%s, in %s: %w", name, f.name, err)
			}
			c.of(f).calls++
			c.of(f).bytes += n
			continue
		}
		if err := proc.step(); err != nil {
			return nil, err
		}
	}
}

// gone is how many bytes a call that begins with these registers has gone through.
func (p *process) gone(f *function, regs *syscall.PtraceRegs) (int64, error) {
	switch f.name {
	case "runtime.memmove": // AX: to, BX: from, CX: how many
		return int64(regs.Rcx), nil
	case "runtime.memclrNoHeapPointers": // AX: at, BX: how many
		return int64(regs.Rbx), nil
	case search: // SI: in what, BX: its length, R8: where the index is put
		at, err := p.word(regs.R8)
		if int64(at) < 0 {
			at = regs.Rbx
		}
		return int64(at), err
	}
	return 0, nil
}
