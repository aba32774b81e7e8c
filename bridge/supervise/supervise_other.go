//go:build !linux || portable || !(amd64 || arm64)

package supervise

import "os/exec"

// Supervisor decides the program starts of one Codex. This system has none.
type Supervisor struct{ options Options }

// New returns a Supervisor. On a system without this feature, Start starts Codex without it.
func New(o Options) *Supervisor { return &Supervisor{o} }

// Holds reports whether the programs of Codex are supervised.
func (s *Supervisor) Holds() bool { return false }

// errUnsupported is why no program start is supervised.
var errUnsupported = &UnsupportedError{"this build can do so only on Linux, on amd64 and arm64"}

// Check returns why program starts can't be supervised here.
func Check(start, wait func(*exec.Cmd) error) error { return errUnsupported }

// Start starts a command by start.
func (s *Supervisor) Start(cmd *exec.Cmd, start func(*exec.Cmd) error) error {
	if s.options.Required {
		return errUnsupported
	}
	if s.options.Unsupported != nil {
		s.options.Unsupported(errUnsupported)
	}
	return start(cmd)
}

// Announce tells the Supervisor of a call that Codex is about to run.
func (s *Supervisor) Announce(Call) {}
