//go:build linux

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// piecewiseChain is a chain that receives the pieces, one write each, and then no more.
func piecewiseChain(t *testing.T, pieces ...string) *chain {
	t.Helper()
	r, w, err := pipes.pair()
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		defer w.Close()
		for _, piece := range pieces {
			if writeAll(int(w.Fd()), []byte(piece)) != nil {
				return // the reader stopped early
			}
		}
	}()
	t.Cleanup(func() {
		r.Close()
		<-said
	})
	return &chain{out: r, buf: make([]byte, 4<<10)}
}

// splitInto splits a text into pieces of n bytes.
func splitInto(text string, n int) (pieces []string) {
	for len(text) > n {
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return append(pieces, text)
}

// Each way to drain accepts the load, in pieces of any size, and finds errors in it.
func TestDrains(t *testing.T) {
	l := load{block: []byte("{\"method\":\"a\",\"n\":######}\n{\"method\":\"bb\"}\n"), times: 40, numbers: []int{18}}
	var whole strings.Builder
	for n := range l.times {
		l.number(n)
		whole.Write(l.block)
	}
	right := whole.String()
	own := strings.Replace(right, "\n", "\n{\"method\":\"bridge/hooks/state\"}\n", 1)
	end := listed + "{}}\n"
	later := end + "{\"method\":\"bridge/hooks/state\"}\n"
	ways := []struct {
		name  string
		drain func(*chain) error
		right []string
		wrong []string
	}{
		{"bytes", func(c *chain) error { return c.bytesOf(l, false) }, []string{right}, []string{right[1:], right + "x", ""}},
		{"checked", func(c *chain) error { return c.bytesOf(l, true) }, []string{right}, []string{right[1:] + "\n", strings.Replace(right, "000007", "000008", 1)}},
		{"lines", func(c *chain) error { return c.linesOf(l) }, []string{right, strings.ReplaceAll(right, "method", "m")}, []string{right[:len(right)-1], "\n" + right}},
		{"end", (*chain).toEnd, []string{right + end, own + later, end}, []string{right, right + end[:5]}},
		{"all", func(c *chain) error { return c.allOf(l) }, []string{right + end, own + later}, []string{
			right, right[1:] + end, own[1:] + end, strings.Replace(right, "000007", "000008", 1) + end, right + "{}\n" + end,
		}},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			for _, size := range []int{1, 7, 1000, 1 << 20} {
				for _, text := range way.right {
					if err := way.drain(piecewiseChain(t, splitInto(text, size)...)); err != nil {
						t.Errorf("in pieces of %d: %v", size, err)
					}
				}
				for i, text := range way.wrong {
					// An excess is found only if it arrives with the load.
					if err := way.drain(piecewiseChain(t, splitInto(text, size)...)); err == nil && size > len(text) {
						t.Errorf("in pieces of %d: wrong load %d is accepted", size, i)
					}
				}
			}
		})
	}
}

func TestAsk(t *testing.T) {
	for _, tt := range []struct {
		said string
		ok   bool
	}{
		{"{\"id\":1,\"result\":{}}\n", true},
		{"{\"method\":\"bridge/hooks/state\"}\n{\"id\":11,\"result\":{}}\n{\"id\":1,\"result\":{}}\n", true},
		{"{\"id\":1,\"error\":{\"code\":-32013}}\n", false},
		{"{\"id\":11,\"result\":{}}\n", false},
		{"", false},
	} {
		c := piecewiseChain(t, tt.said)
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		c.in = null
		if err := c.ask(1, `{"id":1}`); (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.said, err)
		}
		null.Close()
	}
}

func TestPad(t *testing.T) {
	for size := lineSize; size < 2*lineSize; size++ {
		line := pad(size, `{"a":"`, `"}`)
		if len(line) != size || bytes.IndexByte(line, '\n') != size-1 || !bytes.HasPrefix(line, []byte(`{"a":"`)) || !bytes.HasSuffix(line, []byte("\"}\n")) {
			t.Fatalf("a line of %d bytes: %q", size, line)
		}
	}
}
