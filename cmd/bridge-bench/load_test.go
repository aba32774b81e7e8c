//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

// writtenBy returns the whole output of a load.
func writtenBy(t *testing.T, l load) []byte {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		failed <- l.writeTo(int(w.Fd()))
		w.Close()
	}()
	var all bytes.Buffer
	if _, err := all.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}

// A load writes as many bytes and lines as it says, and the strict parser accepts each line.
func TestLoads(t *testing.T) {
	ls := loads{short: true, capture: "../../" + captured}
	for name, want := range map[string]struct{ lines, size int }{
		"deltas-tenth": {8_000, 8_000 * lineSize},
		"each":         {20_000, 20_000 * lineSize},
		"long-few":     {1, 4 << 20},
		"talk":         {100_000, 100_000 * lineSize},
		"turns-each":   {0, 0}, // depends on the capture
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ls.load(name)
			if err != nil {
				t.Fatal(err)
			}
			all := writtenBy(t, l)
			if len(all) != l.size() || bytes.Count(all, []byte{'\n'}) != l.lines() || crc32.Checksum(all, crcTable) != l.checksum() {
				t.Errorf("%d bytes in %d lines, want %d in %d; or the checksum differs", len(all), bytes.Count(all, []byte{'\n'}), l.size(), l.lines())
			}
			if want.lines > 0 && (l.lines() != want.lines || l.size() != want.size) {
				t.Errorf("%d lines of %d bytes, want %v", l.lines(), l.size(), want)
			}
			for line := range bytes.Lines(all) {
				if m, err := rpc.ParseMessage(line); err != nil || m.Kind != rpc.Notification {
					t.Fatalf("%.200s is not a notification: %v", line, err)
				}
			}
		})
	}
	if _, err := ls.load("nothing"); err == nil {
		t.Error("an empty name has a load")
	}
}

// The load of turns is like Codex's: mostly deltas in one thread, with unique turns and items.
func TestTurns(t *testing.T) {
	l, err := loads{capture: "../../" + captured}.turns(20_000, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := writtenBy(t, l)
	if n := l.lines(); n < 19_000 || n > 20_000 {
		t.Errorf("%d messages", n)
	}
	seen := make(map[string]bool)
	deltas := 0
	for line := range bytes.Lines(all) {
		var said struct {
			Method string
			Params struct {
				ThreadID string
				Turn     struct{ ID string }
				Item     struct{ ID string }
			}
		}
		if err := json.Unmarshal(line, &said); err != nil {
			t.Fatal(err)
		}
		if said.Params.ThreadID != thread {
			t.Fatalf("%s belongs to another thread", line)
		}
		if said.Method == "item/agentMessage/delta" {
			deltas++
		}
		if id := said.Params.Turn.ID + said.Params.Item.ID; id != "" {
			key := fmt.Sprint(said.Method, " ", id)
			if seen[key] {
				t.Fatalf("%s is not unique", key)
			}
			seen[key] = true
		}
	}
	if part := fmt.Sprintf("%.0f of 100 messages are deltas", 100*float64(deltas)/float64(l.lines())); !strings.Contains(featurePreface, part) {
		t.Errorf("%s, and the page says otherwise: %s", part, featurePreface)
	}
	if want := 2 * l.times; countOf(seen, "turn/completed ") != want || countOf(seen, "item/completed ") < 2*want {
		t.Errorf("%d turns, %d completed, with %d items", want, countOf(seen, "turn/completed "), countOf(seen, "item/completed "))
	}
}

func countOf(seen map[string]bool, prefix string) (n int) {
	for key := range seen {
		if bytes.HasPrefix([]byte(key), []byte(prefix)) {
			n++
		}
	}
	return n
}
