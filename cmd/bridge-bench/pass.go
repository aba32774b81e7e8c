//go:build linux

package main

import "codex-bridge.example/cmd/bridge-bench/internal/table"

// passage is one load through the proxy, through cat, and through the peers.
type passage struct {
	load  string
	title string
	over  transport
	goals goals
	peers string // the smaller load for slow peers; empty: no peers
}

func (p passage) measurement() measurement {
	return measurement{name: "pass/" + p.load + "/" + string(p.over), peers: p.peers != "", round: p.round}
}

// round measures time, processor time and memory, and the time of the peers.
func (p passage) round(b *bench, n int) error {
	key, title := "pass/"+p.load+"/"+string(p.over), p.title+", "+string(p.over)
	l, err := b.loads.load(p.load)
	if err != nil {
		return err
	}
	if n == 0 { // a warm-up round that compares the bytes
		if _, err := b.passOnce(b.startProxy, p.over, p.load, l, true); err != nil {
			return err
		}
	}
	var ours, cat passResult
	err = alternate(n,
		func() (err error) { ours, err = b.passOnce(b.startProxy, p.over, p.load, l, false); return },
		func() (err error) { cat, err = b.passOnce(b.startCats, p.over, p.load, l, false); return })
	if err != nil {
		return err
	}
	b.table.Add(table.Row{Key: key + "/time", Title: title, What: "time", Unit: "×", Goal: orNone(p.goals.time), Note: "%.2f GB/s, cat %.2f"},
		ratio(ours.took, cat.took), ours.speed(), cat.speed())
	b.table.Add(table.Row{Key: key + "/cpu", Title: title, What: "CPU", Unit: "×", Goal: orNone(p.goals.cpu), Note: "%.0f ms, cat %.0f"},
		ratio(ours.cpu, cat.cpu), ms(ours.cpu), ms(cat.cpu))
	if p.goals.memory > 0 {
		b.table.Add(table.Row{Key: key + "/memory", Title: title, What: "memory", Unit: "MiB", Goal: orNone(p.goals.memory)}, mib(ours.peak-ours.idle))
	}
	if err := b.passPeers(p, cat); err != nil {
		return err
	}
	b.table.Add(table.Row{Key: "idle/memory", Title: "idle", What: "resident memory", Unit: "MiB", Goal: table.AtMost(14), Note: "after the handshake"}, mib(ours.idle))
	return nil
}

// runOnce makes one chain pass the load; with check it compares the bytes.
func (b *bench) passOnce(start starter, t transport, name string, l load, check bool) (passResult, error) {
	return b.through(start, t, b.env(name), l, func(c *chain) error { return c.bytesOf(l, check) })
}

// passThrough starts a chain, does the handshake, and makes it pass the load.
func (b *bench) through(start starter, t transport, env []string, l load, drain func(*chain) error) (p passResult, err error) {
	c, err := start(t, env)
	if err != nil {
		return p, err
	}
	if err = c.hello(); err == nil {
		p, err = c.pass(l, initialized, func() error { return drain(c) })
	}
	if err == nil {
		err = c.close()
	}
	if err != nil {
		c.kill()
	}
	return p, err
}

// alternate runs both; the order changes from round to round.
func alternate(n int, a, b func() error) error {
	if n%2 == 1 {
		a, b = b, a
	}
	if err := a(); err != nil {
		return err
	}
	return b()
}
