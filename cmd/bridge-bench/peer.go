//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

// peer is another program in the place of the proxy.
type peer struct {
	name string // in the report
	key  string
	args []string // the program and its arguments
	slow bool     // it decodes the messages, and gets a smaller load
	path string   // start of its PATH; empty: unchanged
}

// findPeers builds the peers and looks for socat. Without socat the report lacks its rows and says
// so.
func (b *bench) findPeers() error {
	program := filepath.Join(b.dir, "peers")
	if err := build(filepath.Join(b.root, "cmd", "bridge-bench", "peers"), program, "."); err != nil {
		return err
	}
	if socat, err := exec.LookPath("socat"); err == nil {
		// socat parses special characters in addresses; a plain name, found on PATH, has none.
		bin := filepath.Join(b.dir, "bin")
		if err := os.MkdirAll(bin, 0o700); err != nil {
			return err
		}
		if err := os.Symlink(b.self, filepath.Join(bin, "stand-in")); err != nil {
			return err
		}
		b.peers = append(b.peers, &peer{name: "socat", key: "socat", args: []string{socat, "-b", "65536", "-t", "0.1", "STDIO", "EXEC:stand-in app-server,pipes"}, path: bin})
	}
	for _, one := range []peer{
		{name: "a copying Go program", key: "copy"}, {name: "encoding/json", key: "json", slow: true},
		{name: "go.lsp.dev/jsonrpc2", key: "jsonrpc2", slow: true}, {name: "creachadair/jrpc2", key: "jrpc2", slow: true},
	} {
		one.args = []string{program, one.key, b.self, "app-server"}
		b.peers = append(b.peers, &one)
	}
	return nil
}

// aboutSocat returns a line of the report about socat.
func (b *bench) aboutSocat() string {
	for _, p := range b.peers {
		if p.key == "socat" {
			out, _ := exec.Command(p.args[0], "-V").Output() // the version is optional
			version := ""
			if _, rest, ok := strings.Cut(string(out), "socat version "); ok {
				version, _, _ = strings.Cut(rest, " ")
				version = " " + version
			}
			return "socat" + version + " moves 64 KiB at a time."
		}
	}
	return "socat was not on PATH and has no rows."
}

// start is a starter.
func (p *peer) start(b *bench) starter {
	return func(t transport, env []string) (*chain, error) {
		if p.path != "" {
			env = append(env[:len(env):len(env)], "PATH="+p.path+string(os.PathListSeparator)+os.Getenv("PATH"))
		}
		return b.chain(t, []*exec.Cmd{{Path: p.args[0], Args: p.args, Env: env}})
	}
}

// passPeers measures the time per byte of each peer, against cat's.
func (b *bench) passPeers(p passage, cat passResult) error {
	if p.peers == "" {
		return nil
	}
	for _, one := range b.peers {
		name, part := p.load, ""
		if one.slow {
			name += "-" + p.peers
		}
		l, err := b.loads.load(name)
		if err != nil {
			return err
		}
		if one.slow {
			part = fmt.Sprintf(" (%s lines)", formatThousands(l.lines()))
		}
		drain := func(c *chain) error { return c.bytesOf(l, false) }
		if one.slow { // it changes the bytes
			drain = func(c *chain) error { return c.linesOf(l) }
		}
		got, err := b.through(one.start(b), p.over, b.env(name), l, drain)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		row := table.Row{
			Key: "pass/" + p.load + "/" + string(p.over) + "/" + one.key, Title: p.title + ", " + string(p.over), What: one.name + part, Unit: "×",
			Note: "%.2f GB/s",
		}
		b.table.Add(row, got.perByte()/cat.perByte(), got.speed())
		if !one.slow {
			row.Key, row.What, row.Note = row.Key+"/cpu", row.What+", CPU", "%.0f ms"
			b.table.Add(row, ratio(got.cpu, cat.cpu), ms(got.cpu))
		}
	}
	return nil
}

// formatThousands formats a number with separators.
func formatThousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", formatThousands(n/1000), n%1000)
}
