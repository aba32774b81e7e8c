//go:build linux

package main

import (
	"fmt"
	"time"
)

// roundTrip measures a request of 250 bytes and its answer of 250 bytes, one at
// a time: through the proxy, through two cats, and with nothing between.
func roundTrip(t transport) measurement {
	key := "trip/" + string(t)
	return measurement{keys: key, round: func(b *bench, n int) error {
		count := 5000
		if b.short {
			count = 2000
		}
		var ours, cats, alone []float64
		err := inTurn(n,
			func() (err error) { ours, err = b.trips(b.ours, t, count); return },
			func() (err error) { cats, err = b.trips(b.cats, t, count); return })
		if err == nil {
			alone, err = b.trips(b.alone, t, count)
		}
		if err != nil {
			return err
		}
		p50, cat50, alone50 := median(ours), median(cats), median(alone)
		p99, cat99 := quantile(ours, 0.99), quantile(cats, 0.99)
		title := "round trip of 250 B, " + string(t)
		b.add(row{key: key + "/p50", title: title, what: "p50", unit: "×", goal: 1.6, atMost: true,
			note: "%.1f µs, cat %.1f µs"}, p50/cat50, p50, cat50)
		b.add(row{key: key + "/p99", title: title, what: "p99", unit: "×", free: true,
			note: "%.1f µs, cat %.1f µs"}, p99/cat99, p99, cat99)
		b.add(row{key: key + "/added", title: title, what: "added to cat's p50", unit: "µs", goal: 20, atMost: true}, p50-cat50)
		// Mostly the time in which the system wakes up two more processes: on a machine
		// with nothing else to do, its cores sleep, and that is 40 µs; else 12.
		b.add(row{key: key + "/alone", title: title, what: "added to nothing between", unit: "µs", free: true,
			note: "to %.1f µs; two cats add %.1f µs"}, p50-alone50, alone50, cat50-alone50)
		return nil
	}}
}

// trips are the times of count round trips, in µs, less a tenth for warming up.
func (b *bench) trips(start func(transport, []string) (*chain, error), t transport, count int) ([]float64, error) {
	c, err := start(t, b.env("echo"))
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
		if err := c.line(); err != nil {
			return nil, err
		}
		if i >= count/10 {
			times = append(times, float64(time.Since(start))/float64(time.Microsecond))
		}
	}
	return times, nil
}
