//go:build linux

package main

import "time"

// goals of a load; 0 where there is none.
type goals struct{ time, cpu, memory float64 }

// passing measures one load through the proxy and through cat: time, processor
// time, memory.
func passing(name, title string, t transport, g goals) measurement {
	key := name + "/" + string(t)
	title += ", " + string(t)
	return measurement{keys: key, round: func(b *bench, n int) error {
		l, err := newLoad(name, b.short)
		if err != nil {
			return err
		}
		if n == 0 { // a round that does not count: caches, and whether the bytes are right
			if _, err := b.passOnce(b.ours, t, name, l, true); err != nil {
				return err
			}
		}
		var ours, cat passed
		err = inTurn(n,
			func() (err error) { ours, err = b.passOnce(b.ours, t, name, l, false); return },
			func() (err error) { cat, err = b.passOnce(b.cats, t, name, l, false); return })
		if err != nil {
			return err
		}
		speed := func(p passed) float64 { return float64(l.size()) / 1e9 / p.took.Seconds() }
		b.add(row{key: key + "/time", title: title, what: "time", unit: "×", goal: g.time, free: g.time == 0, atMost: true,
			note: "%.2f GB/s, cat %.2f GB/s"}, ratio(ours.took, cat.took), speed(ours), speed(cat))
		b.add(row{key: key + "/cpu", title: title, what: "processor time", unit: "×", goal: g.cpu, free: g.cpu == 0, atMost: true,
			note: "%.0f ms, cat %.0f ms"}, ratio(ours.cpu, cat.cpu), ms(ours.cpu), ms(cat.cpu))
		if g.memory > 0 {
			b.add(row{key: key + "/memory", title: title, what: "memory over idle", unit: "MiB", goal: g.memory, atMost: true,
				note: "highest RSS less that before the load"}, mib(ours.peak-ours.idle))
		}
		b.add(row{key: "idle/memory", title: "idle", what: "memory", unit: "MiB", goal: 24, atMost: true,
			note: "RSS after the handshake"}, mib(ours.idle))
		return nil
	}}
}

func (b *bench) passOnce(start func(transport, []string) (*chain, error), t transport, name string, l load, check bool) (passed, error) {
	c, err := start(t, b.env(name))
	if err != nil {
		return passed{}, err
	}
	p, err := c.pass(l, check)
	if err != nil {
		c.kill()
	}
	return p, err
}

// inTurn runs both; who is first changes from round to round.
func inTurn(n int, a, b func() error) error {
	if n%2 == 1 {
		a, b = b, a
	}
	if err := a(); err != nil {
		return err
	}
	return b()
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
func mib(n int64) float64              { return float64(n) / (1 << 20) }
func ms(d time.Duration) float64       { return float64(d) / float64(time.Millisecond) }
