//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

// The blocked sides, in the rows about messages that still pass.
const (
	deafClient = "deaf-client" // the client does not read while Codex writes 500 MiB
	deafCodex  = "deaf-codex"  // Codex does not read while the client sends 30,000 requests
)

const (
	controls = 200    // measured messages
	unread   = 30_000 // requests
)

// backpressure measures messages past a blocked side: an interrupt of the client, a question of
// Codex. Each message has its time, by the clock that all processes share.
func (b *bench) backpressure(int) error {
	for _, of := range []struct {
		load, title, what string
		run               func(*chain) ([]float64, error)
	}{
		{deafClient, "the client reads nothing while codex writes 500 MiB", "an interrupt reaches codex in", (*chain).interrupts},
		{deafCodex, "codex reads nothing while it writes 500 MiB and the client sends 30,000 requests", "a question reaches the client in", (*chain).questions},
	} {
		for _, with := range []struct{ key, name, text string }{{"policy", "policy", enforce}, {"trace", "policy and trace", enforce + traceOn}} {
			times, p, err := b.runBlocked(of.load, with.text, of.run)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", of.load, with.name, err)
			}
			key := "held/" + of.load + "/" + with.key
			b.table.Add(table.Row{Key: key + "/longest", Title: of.title, What: with.name + ": " + of.what, Unit: "ms", Goal: table.AtMost(250),
				Note: "max of " + strconv.Itoa(controls) + "; p50 %.2f ms"}, table.Quantile(times, 1), table.Median(times))
			b.table.Add(table.Row{Key: key + "/memory", Title: of.title, What: with.name + ": memory", Unit: "MiB", Goal: table.AtMost(64)}, mib(p.peak-p.idle))
		}
	}
	return nil
}

// runBlocked runs one conversation: a turn in which the stand-in writes its load.
func (b *bench) runBlocked(load, text string, run func(*chain) ([]float64, error)) (times []float64, p passResult, err error) {
	err = b.inTurn(feature{text: text}, load, func(c *chain) (err error) {
		if p.idle, err = memory(c.worker, "VmRSS:"); err != nil {
			return err
		}
		if times, err = run(c); err != nil {
			return err
		}
		p.peak, err = memory(c.worker, "VmHWM:")
		return err
	})
	return times, p, err
}

// now returns the time since boot, in ns.
func now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // can't fail
	return ts.Nano()
}

// since returns the time since then, in ms.
func since(then int64) float64 { return float64(now()-then) / 1e6 }

// sendInterrupts sends interrupts without reading, and then reads all output: the last line has the
// arrival times.
func (c *chain) interrupts() ([]float64, error) {
	if err := c.send(list); err != nil {
		return nil, err
	}
	for i := range controls {
		time.Sleep(2 * time.Millisecond) // the first ones arrive before the pipes are full
		if err := c.send(fmt.Sprintf(`{"id":%d,"method":"turn/interrupt","params":{"threadId":"%s","turnId":"%d"}}`, 10+i, thread, now())); err != nil {
			return nil, err
		}
	}
	var times struct{ Result struct{ Took []float64 } }
	err := c.lines(func(line []byte) (bool, error) {
		if !bytes.HasPrefix(line, []byte(listed)) {
			return false, nil
		}
		return true, json.Unmarshal(line, &times)
	})
	return times.Result.Took, err
}

// sendRequests sends requests to a Codex that does not read, and receives its questions.
func (c *chain) questions() ([]float64, error) {
	if err := c.send(list); err != nil {
		return nil, err
	}
	sent := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < unread && err == nil; i++ {
			err = c.send(string(bytes.TrimSpace(pad(1024, fmt.Sprintf(`{"id":%d,"method":"model/list","params":{"cursor":"`, 10+i), `"}}`))))
		}
		sent <- err
	}()
	var times []float64
	left := unread + 1 // responses, with that to the first request
	err := c.lines(func(line []byte) (bool, error) {
		if rest, ok := bytes.CutPrefix(line, []byte(question)); ok {
			at, _, _ := bytes.Cut(rest, []byte{'"'})
			then, err := strconv.ParseInt(string(at), 10, 64)
			times = append(times, since(then))
			return false, err
		}
		if !bytes.HasPrefix(line, []byte(`{"method":`)) {
			left--
		}
		return left == 0, nil
	})
	if err != nil {
		return nil, err
	}
	if err := <-sent; err != nil {
		return nil, err
	}
	if len(times) != controls {
		return nil, fmt.Errorf("%d of %d questions arrived", len(times), controls)
	}
	return times, nil
}

// lines reads lines until f has all it needs.
func (c *chain) lines(f func(line []byte) (done bool, err error)) error {
	for kept := 0; ; {
		n, err := rawFile(c.out.Fd()).Read(c.buf[kept:])
		if err != nil {
			return fmt.Errorf("the end of the load is missing: %w", err)
		}
		all := c.buf[:kept+n]
		end := bytes.LastIndexByte(all, '\n') + 1
		for line := range bytes.Lines(all[:end]) {
			if done, err := f(line); done || err != nil {
				return err
			}
		}
		if kept = copy(c.buf, all[end:]); kept == len(c.buf) {
			return fmt.Errorf("a line is longer than %d bytes", kept)
		}
	}
}

// question is the start of the stand-in's question, up to its time.
const question = `{"method":"item/tool/requestUserInput","id":"`

// standInBlocked is the stand-in's part.
func (s *standIn) beHeldUp() error {
	if s.name == deafCodex {
		return s.askOn()
	}
	var writing sync.WaitGroup
	var failed error
	writing.Go(func() { failed = s.load.writeTo(1) })
	var took []float64
	for len(took) < controls {
		line, err := s.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		_, rest, ok := bytes.Cut(line, []byte(`"turnId":"`))
		at, _, _ := bytes.Cut(rest, []byte{'"'})
		then, err := strconv.ParseInt(string(at), 10, 64)
		if !ok || err != nil {
			return fmt.Errorf("not an interrupt: %.200q", line)
		}
		took = append(took, since(then))
	}
	writing.Wait()
	if failed != nil {
		return failed
	}
	raw, err := json.Marshal(map[string]any{"took": took})
	if err != nil {
		return err
	}
	return writeAll(1, fmt.Appendf(nil, "%s%s}\n", listed, raw))
}

// askWhileWriting asks while it writes its load, and reads only after all is written.
func (s *standIn) askOn() error {
	for n := range s.load.times {
		one := s.load
		one.times = 1
		if err := one.writeTo(1); err != nil {
			return err
		}
		if n >= controls {
			continue
		}
		if err := writeAll(1, fmt.Appendf(nil, question+`%d","params":{"threadId":"%s","turnId":"1","itemId":"i","questions":[]}}`+"\n", now(), thread)); err != nil {
			return err
		}
	}
	return writeAll(1, []byte(listed+"{}}\n"))
}
