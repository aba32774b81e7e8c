//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

// pace is the time between two messages. A model writes about a hundred a second, so this is the pace of
// ten turns at once.
const pace = time.Millisecond

// pacedResult is the result of a load at this pace.
type pacedResult struct {
	took   time.Duration // from the first message sent to the last one received
	delays []float64     // of each message, from its write to its read, in µs
}

// paced measures the messages of a turn at the pace of Codex: with each feature that reads them, against
// the same proxy without features.
func (b *bench) paced(n int) error {
	const title = "features on, messages of turns, one each millisecond"
	all := []feature{{}}
	for _, f := range features {
		switch f.key {
		case "trace", "transcript", "all":
			all = append(all, f)
		}
	}
	results := make([]pacedResult, len(all))
	for i := range all {
		i = (i + n) % len(all)
		err := b.inTurn(all[i], pacedLoad, func(c *chain) (err error) { results[i], err = c.paced(); return err })
		if err != nil {
			return fmt.Errorf("%s: %w", all[i].name, err)
		}
	}
	bare := results[0]
	for i, f := range all[1:] {
		key, got := pacedLoad+"/"+f.key, results[i+1]
		b.table.Add(table.Row{Key: key + "/time", Title: title, What: f.name, Unit: "×", Goal: table.AtMost(1.15), Note: "%.0f messages"},
			ratio(got.took, bare.took), float64(len(got.delays)))
		b.table.Add(table.Row{Key: key + "/delay", Title: title, What: f.name + ", delay of a message", Unit: "µs", Note: "p50; p99 %.0f; bare %.0f and %.0f"},
			table.Median(got.delays), table.Quantile(got.delays, 0.99), table.Median(bare.delays), table.Quantile(bare.delays, 0.99))
	}
	return nil
}

// paced makes the stand-in write its load at the pace, and receives it. The last line has the times at
// which the stand-in wrote.
func (c *chain) paced() (p pacedResult, err error) {
	if err := c.send(list); err != nil {
		return p, err
	}
	var arrived []int64
	var times struct{ Result struct{ Sent []int64 } }
	err = c.lines(func(line []byte) (bool, error) {
		switch {
		case bytes.HasPrefix(line, []byte(listed)):
			return true, json.Unmarshal(line, &times)
		case !bytes.HasPrefix(line, []byte(`{"method":"bridge/`)):
			arrived = append(arrived, now())
		}
		return false, nil
	})
	sent := times.Result.Sent
	if err == nil && (len(sent) != len(arrived) || len(sent) == 0) {
		err = fmt.Errorf("%d of %d messages arrived", len(arrived), len(sent))
	}
	if err != nil {
		return p, err
	}
	for i, at := range arrived {
		p.delays = append(p.delays, float64(at-sent[i])/1e3)
	}
	p.took = time.Duration(arrived[len(arrived)-1] - sent[0])
	return p, nil
}

// writePaced writes the load at the pace, and then the times.
func (s *standIn) writePaced() error {
	var sent []int64
	begin := time.Now()
	for n := range s.load.times {
		s.load.number(n)
		for line := range bytes.Lines(s.load.block) {
			time.Sleep(time.Until(begin.Add(time.Duration(len(sent)) * pace)))
			sent = append(sent, now())
			if err := writeAll(1, line); err != nil {
				return err
			}
		}
	}
	raw, err := json.Marshal(map[string]any{"sent": sent})
	if err != nil {
		return err
	}
	return writeAll(1, fmt.Appendf(nil, "%s%s}\n", listed, raw))
}
