//go:build linux

package main

import (
	"os"
	"path/filepath"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

// stream measures a long recorded stream: Codex does not wait for the recording, and its memory
// does not grow.
func (b *bench) stream(n int) error {
	l, err := b.loads.load(streamLoad)
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, "stream.toml")
	if err := os.WriteFile(file, []byte(enforce+traceOn), 0o600); err != nil {
		return err
	}
	state := filepath.Join(b.dir, "stream")
	env := append(b.env(streamLoad), "CODEX_BRIDGE_CONFIG="+file, "CODEX_BRIDGE_STATE="+state, "CODEX_BRIDGE_LOG=error")
	p, err := b.through(b.startProxy, pipes, env, l, func(c *chain) error { return c.bytesOf(l, n == 0) })
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(state, "traces", thread+".jsonl"))
	if err != nil {
		return err
	}
	const title = "a stream of 2 GiB, with trace and transcript"
	b.table.Add(table.Row{Key: "stream/memory", Title: title, What: "memory", Unit: "MiB", Goal: table.AtMost(64),
		Note: "24 MiB may wait to be written"}, mib(p.peak-p.idle))
	b.table.Add(table.Row{Key: "stream/speed", Title: title, What: "passes at", Unit: "MB/s",
		Note: "trace %.0f MB; the rest is counted there"}, p.speed()*1e3, float64(info.Size())/1e6)
	return os.RemoveAll(state)
}
