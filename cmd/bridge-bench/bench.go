//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
	"codex-bridge.example/cmd/internal/scripted"
)

type options struct {
	rounds int
	short  bool
	only   string
	list   bool
	write  string
	proxy  string
	// records is the folder with the databases of growth; empty: only small ones, in dir
	records string
}

// bench is one run of the program.
type bench struct {
	options
	self  string // this program
	cat   string
	peers []*peer
	dir   string // temporary
	home  string // below dir, of all started processes
	root  string // of the module
	loads loads
	table table.Table
	buf   []byte // the buffer of drains
}

func run(o options) error {
	if o.list {
		for _, m := range measurements {
			fmt.Println(m.name)
		}
		return nil
	}
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	// A garbage collection in the middle of a round would stop the drain.
	debug.SetGCPercent(400)
	if o.rounds <= 0 {
		o.rounds = 11
		if o.short {
			o.rounds = 3
		}
	}
	dir, err := scripted.Folder("bridge-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bench{options: o, dir: dir, buf: make([]byte, 1<<20), table: table.Table{Rounds: o.rounds}}
	if err := b.prepare(chosen); err != nil {
		return err
	}
	for n := range b.rounds {
		for _, m := range chosen {
			if err := m.round(b, n); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", n+1, b.rounds)
	}
	fmt.Printf("%s; %d rounds\n\n", machine(), b.rounds)
	if err := b.table.Terminal(os.Stdout); err != nil {
		return err
	}
	if o.write == "" {
		return nil
	}
	page := b.page()
	err = os.WriteFile(o.write, page, 0o644)
	if drawing := picture(medians(string(page))); drawing != nil {
		err = errors.Join(err, os.WriteFile(filepath.Join(filepath.Dir(o.write), pictureFile), drawing, 0o644))
	}
	return err
}

// choose selects measurements by their names, or by words that start the names. A word without a
// measurement is an error, so that the report is complete.
func choose(only string) ([]measurement, error) {
	if only == "" {
		return measurements, nil
	}
	names := strings.Split(only, ",")
	found := make(map[string]bool)
	var chosen []measurement
	for _, m := range measurements {
		named := false
		for _, name := range names {
			if m.name == name || strings.HasPrefix(m.name, name+"/") {
				named, found[name] = true, true
			}
		}
		if named {
			chosen = append(chosen, m)
		}
	}
	for _, name := range names {
		if !found[name] {
			return nil, fmt.Errorf("no measurement %q; -list shows the names", name)
		}
	}
	return chosen, nil
}

func (b *bench) prepare(chosen []measurement) (err error) {
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
	b.loads = loads{short: b.short, capture: filepath.Join(b.root, captured)}
	if b.records != "" {
		if b.records, err = filepath.Abs(b.records); err != nil {
			return err
		}
	}
	if b.proxy == "" {
		b.proxy = filepath.Join(b.dir, "codex-bridge")
		if err := build(b.root, b.proxy, "./cmd/codex-bridge"); err != nil {
			return err
		}
	}
	if b.proxy, err = filepath.Abs(b.proxy); err != nil {
		return err
	}
	if slices.ContainsFunc(chosen, func(m measurement) bool { return m.peers }) {
		if err := b.findPeers(); err != nil {
			return err
		}
	}
	// With an enforced policy, the bridge does its usual work.
	b.home = filepath.Join(b.dir, "home")
	if err := os.Mkdir(filepath.Join(b.dir, "tmp"), 0o700); err != nil {
		return err
	}
	file := filepath.Join(b.home, "codex-bridge", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(enforce), 0o600)
}

// enforce is the configuration of rows without their own.
const enforce = "[policy]\nmode = \"enforce\"\n"

// build builds a program of a package with a folder in the module.
func build(folder, program, pkg string) error {
	cmd := exec.Command("go", "build", "-C", folder, "-trimpath", "-ldflags", "-s -w", "-o", program, pkg)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // static, like a release: starts 1 ms faster
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s does not build: %w", pkg, err)
	}
	return nil
}

// env is the environment of a chain: without the user's configuration, and with the stand-in for
// Codex.
func (b *bench) env(load string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "XDG_CONFIG_HOME=" + b.home, "XDG_STATE_HOME=" + b.home,
		"TMPDIR=" + filepath.Join(b.dir, "tmp"), "LC_ALL=C",
		"CODEX_BRIDGE_CODEX=" + b.self, envLoad + "=" + load, envCapture + "=" + b.loads.capture,
	}
	if b.short {
		env = append(env, envShort+"=1")
	}
	return env
}
