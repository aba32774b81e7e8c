//go:build linux

package main

import (
	"os"
	"path/filepath"
	"time"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

// realCodex is the Codex of the tests, if it is installed.
const realCodex = "testdata/npm/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"

// start measures from the start of the process to the first byte of the response to initialize:
// with the real Codex, and with the stand-in, which shows the time of the proxy.
func (b *bench) start(n int) error {
	b.table.Add(table.Row{Key: "start/size", Title: "the program", What: "size", Unit: "MB", Goal: table.AtMost(25), Note: "without debugging data"},
		float64(fileSize(b.proxy))/1e6)
	codex := filepath.Join(b.root, realCodex)
	if _, err := os.Stat(codex); err == nil { // otherwise the row is missing
		if err := b.startOf(n, table.Row{Key: "start/codex", What: "real codex", Goal: table.AtMost(6)}, codex); err != nil {
			return err
		}
	}
	return b.startOf(n, table.Row{Key: "start/stand-in", What: "stand-in for codex"}, b.self)
}

// startOf adds the median of some differences: a start of the real Codex takes 40 to 80 ms.
func (b *bench) startOf(n int, r table.Row, codex string) error {
	env := b.env(idleLoad)
	pairs := 5
	if n == 0 {
		pairs++ // the first start creates databases in its home
	}
	var added, base []float64
	for i := range pairs {
		var ours, alone float64
		err := alternate(n+i,
			func() (err error) { ours, err = b.startOnce(b.proxy, env, "ours", codex); return },
			func() (err error) { alone, err = b.startOnce(codex, env, "alone", codex); return })
		if err != nil {
			return err
		}
		if n > 0 || i > 0 {
			added, base = append(added, ours-alone), append(base, alone)
		}
	}
	r.Title, r.Unit, r.Note = "start to the first byte forwarded, added", "ms", "%.1f ms without the bridge"
	b.table.Add(r, table.Median(added), table.Median(base))
	return nil
}

// startOnce returns the time of one start, in ms. Each side has its own home.
func (b *bench) startOnce(program string, env []string, home, codex string) (float64, error) {
	dir := filepath.Join(b.dir, "codex-"+home)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	env = append(env[:len(env):len(env)], "CODEX_HOME="+dir, "CODEX_BRIDGE_CODEX="+codex)
	begin := time.Now()
	c, err := b.program(program, env)
	if err != nil {
		return 0, err
	}
	defer c.kill()
	if err := c.hello(); err != nil {
		return 0, err
	}
	return ms(time.Since(begin)), nil
}
