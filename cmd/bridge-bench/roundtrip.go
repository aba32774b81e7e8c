//go:build linux

package main

import (
	"fmt"
	"time"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

// roundTrip measures a request of 250 bytes and its response of 250 bytes, one at a time: through
// the proxy, through two cats, directly, and through the peers.
func roundTrip(t transport) measurement {
	key := "trip/" + string(t)
	return measurement{name: key, peers: true, round: func(b *bench, n int) error {
		count := 5000
		if b.short {
			count /= 10
		}
		var ours, cats, alone []float64
		err := alternate(n,
			func() (err error) { ours, err = b.trips(b.startProxy, t, count); return },
			func() (err error) { cats, err = b.trips(b.startCats, t, count); return })
		if err == nil {
			alone, err = b.trips(b.startStandIn, t, count)
		}
		if err != nil {
			return err
		}
		p50, cat50, alone50 := table.Median(ours), table.Median(cats), table.Median(alone)
		p99, cat99 := table.Quantile(ours, 0.99), table.Quantile(cats, 0.99)
		title := "round trip of 250 B, " + string(t)
		b.table.Add(table.Row{Key: key + "/p50", Title: title, What: "p50", Unit: "×", Goal: table.AtMost(1.6),
			Note: "%.1f µs, cat %.1f"}, p50/cat50, p50, cat50)
		b.table.Add(table.Row{Key: key + "/p99", Title: title, What: "p99", Unit: "×",
			Note: "%.1f µs, cat %.1f"}, p99/cat99, p99, cat99)
		b.table.Add(table.Row{Key: key + "/added", Title: title, What: "added to cat's p50", Unit: "µs", Goal: table.AtMost(20)}, p50-cat50)
		// Mostly the time to wake up two more processes: 40 µs on an idle machine, whose cores
		// sleep; else 12.
		b.table.Add(table.Row{Key: key + "/alone", Title: title, What: "added to no proxy", Unit: "µs",
			Note: "%.1f µs; two cats add %.1f"}, p50-alone50, alone50, cat50-alone50)
		for _, one := range b.peers {
			times, err := b.trips(one.start(b), t, count)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			p50 := table.Median(times)
			b.table.Add(table.Row{Key: key + "/" + one.key, Title: title, What: one.name + ", p50", Unit: "×", Note: "%.1f µs"}, p50/cat50, p50)
		}
		return nil
	}}
}

// trips returns the times of count round trips, in µs, after a warm-up of a tenth.
func (b *bench) trips(start starter, t transport, count int) ([]float64, error) {
	c, err := start(t, b.env(idleLoad))
	if err != nil {
		return nil, err
	}
	times, err := c.trips(count)
	if err == nil {
		err = c.close()
	}
	if err != nil {
		c.kill()
	}
	return times, err
}

func (c *chain) trips(count int) ([]float64, error) {
	if err := c.hello(); err != nil {
		return nil, err
	}
	times := make([]float64, 0, count)
	for i := range count + count/10 {
		request := string(pad(lineSize, fmt.Sprintf(`{"id":%d,"method":"thread/list","params":{"cwd":"%s","searchTerm":"`, i+1, workspace), `"}}`))
		request = request[:len(request)-1]
		start := time.Now()
		if err := c.send(request); err != nil {
			return nil, err
		}
		if _, err := c.line(); err != nil {
			return nil, err
		}
		if i >= count/10 {
			times = append(times, float64(time.Since(start))/float64(time.Microsecond))
		}
	}
	return times, nil
}
