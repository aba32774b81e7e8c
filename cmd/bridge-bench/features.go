//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

// feature is a configuration of a proxy, compared with an empty one. The text may name cat.
type feature struct {
	key         string
	name        string
	text        string
	knowsBridge bool // the client knows the bridge and offers to answer hooks
}

// The configuration that switches features on.
const (
	hooksOn = "[hooks]\n[[hooks.handler]]\nevent = \"stop\"\ncommand = [%[1]s]\n"
	toolsOn = "[tools.echo]\ndescription = \"Says what it is given.\"\ncommand = [%[1]s]\n"
	traceOn = "[trace]\nenabled = true\nmax_file = \"8GiB\"\n"
	keepOn  = "[transcript]\nenabled = true\n"
)

var features = []feature{
	{"policy", "policy", enforce, false},
	{"hooks", "hooks", hooksOn, false},
	{"tools", "tools", toolsOn, false},
	{"client", "client with bridge methods", "", true},
	{"trace", "trace", traceOn, false},
	{"transcript", "transcript", keepOn, false},
	{"most", "policy, hooks, tools, trace", enforce + hooksOn + toolsOn + traceOn, true},
	{"all", "all", enforce + hooksOn + toolsOn + traceOn + keepOn, true},
}

// featured measures a load in a turn through a proxy with each feature, against the same proxy
// without features. goals has the goals by the key of a feature.
func featured(name, title string, goals map[string]float64) measurement {
	key := "features/" + name
	return measurement{name: key, round: func(b *bench, n int) error {
		l, err := b.loads.load(name)
		if err != nil {
			return err
		}
		// The order changes from round to round: no feature always follows the same one.
		all := append([]feature{{}}, features...)
		times := make([]passResult, len(all))
		for i := range all {
			i = (i + n) % len(all)
			if n == 0 { // a warm-up round
				if _, err := b.converse(all[i], name, l, true); err != nil {
					return fmt.Errorf("%s: %w", all[i].name, err)
				}
			}
			if times[i], err = b.converse(all[i], name, l, false); err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
		}
		bare := times[0]
		for i, f := range features {
			got := times[i+1]
			b.table.Add(table.Row{Key: key + "/" + f.key + "/time", Title: title, What: f.name, Unit: "×", Goal: orNone(goals[f.key]),
				Note: "%.2f GB/s, bare %.2f"}, ratio(got.took, bare.took), got.speed(), bare.speed())
			b.table.Add(table.Row{Key: key + "/" + f.key + "/cpu", Title: title, What: f.name + ", CPU", Unit: "×",
				Note: "%.0f ms, bare %.0f"}, ratio(got.cpu, bare.cpu), ms(got.cpu), ms(bare.cpu))
		}
		return nil
	}}
}

// converse makes a proxy with a feature pass the load of a turn; with check it compares the bytes.
func (b *bench) converse(f feature, name string, l load, check bool) (p passResult, err error) {
	err = b.inTurn(f, name, func(c *chain) (err error) {
		drain := c.toEnd
		if check {
			drain = func() error { return c.allOf(l) }
		}
		p, err = c.pass(l, list, drain)
		return err
	})
	return p, err
}

// inTurn runs a function in a turn through a proxy with a feature. It removes the state.
func (b *bench) inTurn(f feature, load string, run func(*chain) error) (err error) {
	dir, err := os.MkdirTemp(b.dir, "feature-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := "" // no configuration
	if f.text != "" {
		file = filepath.Join(dir, "config.toml")
		if err := os.WriteFile(file, fmt.Appendf(nil, f.text+"%.0[1]s", strconv.Quote(b.cat)), 0o600); err != nil {
			return err
		}
	}
	c, err := b.startProxy(pipes, append(b.env(load), "CODEX_BRIDGE_CONFIG="+file, "CODEX_BRIDGE_STATE="+filepath.Join(dir, "state"), "CODEX_BRIDGE_LOG=error"))
	if err != nil {
		return err
	}
	if err = c.open(f.knowsBridge); err == nil {
		err = run(c)
	}
	if err == nil {
		_, err = c.end()
	}
	if err != nil {
		c.kill()
	}
	return err
}
