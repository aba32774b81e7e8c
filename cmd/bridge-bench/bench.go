//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

type options struct {
	rounds int
	short  bool
	only   string
	write  string
	proxy  string
}

// bench is one run of the whole.
type bench struct {
	options
	self string // this program
	cat  string
	dir  string // temporary
	home string // below dir, of all that is started
	root string // of the module
	rows []*row // in the order they are printed
	buf  []byte // what drains read into
}

// measurement fills some rows, one value each, every round.
type measurement struct {
	keys  string // its rows start with this
	round func(b *bench, n int) error
}

var measurements = []measurement{
	passing("deltas", "pass-through, 1,000,000 notifications of 250 B", pipes, goals{0.67, 1, 16}),
	passing("long", "pass-through, 100 lines of 4 MiB", pipes, goals{0.67, 1, 16}),
	passing("deltas", "pass-through, 1,000,000 notifications of 250 B", sockets, goals{1.15, 1, 16}),
	passing("long", "pass-through, 100 lines of 4 MiB", sockets, goals{1.15, 1, 16}),
	passing("each", "200,000 notifications of 250 B, one write each, as Codex writes", pipes, goals{}),
	passing("each", "200,000 notifications of 250 B, one write each, as Codex writes", sockets, goals{}),
	passing("huge", "one line of 256 MiB", pipes, goals{memory: 16}),
	roundTrip(pipes),
	roundTrip(sockets),
	{"start", (*bench).start},
	{"hook", (*bench).hooks},
	{"tools", (*bench).tools},
	{"pump", (*bench).pump},
	{"parse", (*bench).parse},
	{"rules", (*bench).ruling},
	{"bindings", (*bench).bindings},
	{"history", (*bench).history},
	{"captured", (*bench).captured},
}

func run(o options) error {
	// The drain must not stop to collect its rubbish in the middle of a round.
	debug.SetGCPercent(400)
	if o.rounds <= 0 {
		o.rounds = 15
		if o.short {
			o.rounds = 5
		}
	}
	dir, err := os.MkdirTemp("", "bridge-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bench{options: o, dir: dir, buf: make([]byte, 1<<20)}
	if err := b.prepare(); err != nil {
		return err
	}
	if err := b.measure(); err != nil {
		return err
	}
	fmt.Print(b.terminal())
	if o.write != "" {
		return os.WriteFile(o.write, b.markdown(), 0o644)
	}
	return nil
}

func (b *bench) prepare() (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.cat, err = exec.LookPath("cat"); err != nil {
		return err
	}
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	b.root = filepath.Dir(strings.TrimSpace(string(mod)))
	if b.proxy == "" {
		b.proxy = filepath.Join(b.dir, "codex-bridge")
		build := exec.Command("go", "build", "-trimpath", "-o", b.proxy, "codex-bridge/cmd/codex-bridge")
		build.Stderr = os.Stderr
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // static, as a release is: 1 ms less to start
		if err := build.Run(); err != nil {
			return fmt.Errorf("the proxy does not build: %w", err)
		}
	}
	if b.proxy, err = filepath.Abs(b.proxy); err != nil {
		return err
	}
	// A policy in force: what is measured is the bridge with its work to do.
	b.home = filepath.Join(b.dir, "home")
	file := filepath.Join(b.home, "codex-bridge", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte("[policy]\nmode = \"enforce\"\n"), 0o600)
}

// measure goes round all measurements. A key that names none is an error: the
// report would be empty for no visible reason.
func (b *bench) measure() error {
	any := false
	for n := range b.rounds {
		for _, m := range measurements {
			if !strings.Contains(m.keys, b.only) && !strings.HasPrefix(b.only, m.keys) {
				continue
			}
			any = true
			if err := m.round(b, n); err != nil {
				return fmt.Errorf("%s: %w", m.keys, err)
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", n+1, b.rounds)
	}
	if !any {
		var keys []string
		for _, m := range measurements {
			keys = append(keys, m.keys)
		}
		return fmt.Errorf("no row has a key with %q; there are %s", b.only, strings.Join(keys, ", "))
	}
	return nil
}

// env is what a chain is started with: nothing of the person's own
// configuration, and our stand-in for codex.
func (b *bench) env(load string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "XDG_CONFIG_HOME=" + b.home, "XDG_STATE_HOME=" + b.home,
		"TMPDIR=" + b.dir, "LC_ALL=C",
		"CODEX_BRIDGE_CODEX=" + b.self, envLoad + "=" + load,
	}
	if b.short {
		env = append(env, envShort+"=1")
	}
	return env
}
