//go:build linux

package e2e_test

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Readers that stop or are slow, and the bridge's memory in the meantime.
const (
	stoppedReader = 16 * mib
	tracedReader  = 64 * mib
	// control limits the bytes before the bridge's own response: the content of the pipe, and what the bridge
	// copies to a slow reader until the system runs the goroutine that waits to write the response.
	control = 16 * mib
)

func deltas() int {
	if wide() {
		return 500 * mib
	}
	return 30 * mib
}

func requests() int {
	if wide() {
		return 30_000
	}
	return 6_000
}

// writeStream writes numbered deltas of a total size.
func (x *wire) writeStream(size int, said *atomic.Int64) <-chan error {
	written := make(chan error, 1)
	go func() { // ends after all writes, or with the bridge
		text := strings.Repeat("x", 8000)
		for n := 0; int(said.Load()) < size; n++ {
			m, err := fmt.Fprintf(x.codex, `{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","n":%d,"delta":"%s"}}`+"\n", n, text)
			if err != nil {
				written <- err
				return
			}
			said.Add(int64(m))
		}
		_, err := io.WriteString(x.codex, `{"method":"turn/completed","params":{}}`+"\n")
		written <- err
	}()
	return written
}

// readStream reads the deltas in order, and calls other for each other message with the bytes of
// deltas before it.
func (x *wire) readStream(size int, other func(text string, before int)) {
	x.t.Helper()
	for n, bytes := 0, 0; ; {
		text, err := x.client.ReadString('\n')
		switch {
		case err != nil:
			x.t.Fatalf("after %d bytes: %v", bytes, err)
		case strings.HasPrefix(text, fmt.Sprintf(`{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","n":%d,`, n)):
			n++
			bytes += len(text)
		case strings.HasPrefix(text, `{"method":"turn/completed"`):
			if bytes < size {
				x.t.Errorf("%d of %d bytes arrived", bytes, size)
			}
			return
		case strings.HasPrefix(text, `{"method":"item/`):
			x.t.Fatalf("delta %d is not the next: %.150s", n, text)
		default:
			other(text, bytes)
		}
	}
}

func (x *wire) bound(name string) int64 {
	if name == "trace" {
		return tracedReader
	}
	return stoppedReader
}

// waitFull waits until Codex wrote this much: then the pipes to the client are full.
func waitFull(t *testing.T, said *atomic.Int64, least int64) {
	t.Helper()
	for end := time.Now().Add(patience); said.Load() < least; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes written", said.Load())
		}
	}
}

// A client that stops reading blocks only Codex's output. Its own messages still reach Codex, and
// the bridge's responses arrive as soon as the client has read the pipe. All messages arrive, and
// the bridge uses no more memory.
func TestStoppedClient(t *testing.T) {
	needsLinux(t, "the bridge enlarges pipes, and the sizes here are theirs")
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			var said atomic.Int64
			written := x.writeStream(deltas(), &said)
			waitFull(t, &said, mib)
			x.clientSays(`{"id":"stop","method":"turn/interrupt","params":{"threadId":"t","turnId":"u"}}`)
			line(t, x.codexInput, `"id":"stop"`)
			x.clientSays(`{"id":"mine","method":7}`) // the bridge responds to it
			x.clientSays(`{"id":"after","method":"turn/interrupt","params":{"threadId":"t","turnId":"u"}}`)
			line(t, x.codexInput, `"id":"after"`) // so the bridge has queued its response
			answered := -1
			x.client.Reset(slowUntil{x.out, &answered})
			x.readStream(deltas(), func(text string, before int) {
				if !strings.Contains(text, `"id":"mine"`) || !strings.Contains(text, `"code":-32600`) {
					t.Fatalf("the client got %.200s", text)
				}
				answered = before
			})
			if err := <-written; err != nil {
				t.Fatal(err)
			}
			t.Logf("%.2f MiB before the bridge's response", float64(answered)/mib)
			if answered < 0 || answered > control {
				t.Errorf("%d bytes before the bridge's response, want at most %d", answered, control)
			}
			x.checkPeak(x.bound(name))
		})
	}
}

// slowUntil reads slowly until the response has come. A fast reader could take many MiB before a busy machine
// runs the goroutine that writes the response.
type slowUntil struct {
	io.Reader
	answered *int // negative before the response
}

func (r slowUntil) Read(b []byte) (int, error) {
	if *r.answered < 0 {
		time.Sleep(100 * time.Microsecond)
		b = b[:min(len(b), 1<<16)]
	}
	return r.Reader.Read(b)
}

// sendRequests sends requests of the client and counts them in sent.
func (x *wire) sendRequests(n int, sent *atomic.Int64) <-chan error {
	written := make(chan error, 1)
	go func() { // ends after all writes, or with the bridge
		var err error
		for i := 0; i < n && err == nil; i++ {
			_, err = fmt.Fprintf(x.in, `{"id":%d,"method":"thread/loaded/list","params":{"cursor":"%s"}}`+"\n", i, filler[:1000])
			sent.Add(1)
		}
		written <- err
	}()
	return written
}

// A Codex that stops reading blocks only the client's input: Codex's output still reaches the
// client. When it reads again, all requests arrive once, in order.
func TestStoppedCodex(t *testing.T) {
	needsLinux(t, "the bridge enlarges pipes, and the sizes here are theirs")
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			var sent, said atomic.Int64
			asked := x.sendRequests(requests(), &sent)
			waitFull(t, &sent, 500) // half a megabyte: Codex's pipes fill quickly
			written := x.writeStream(deltas(), &said)
			x.readStream(deltas(), func(text string, _ int) { t.Fatalf("the client got %.200s", text) })
			if err := <-written; err != nil {
				t.Fatal(err)
			}
			t.Logf("%d requests sent, none read by Codex", sent.Load())
			x.answerAll(name != "transparent")
			if err := <-asked; err != nil {
				t.Fatal(err)
			}
			x.checkPeak(x.bound(name))
		})
	}
}

// maxPending is the number of pending requests that the bridge allows.
const maxPending = 4096

// answerAll lets Codex read all requests before it responds; then the client reads. Each request
// has one response: Codex's, or an error about too many pending requests.
func (x *wire) answerAll(bounded bool) {
	x.t.Helper()
	come := requests()
	if bounded {
		come = maxPending
	}
	refusals := make(chan error, 1)
	go func() { // ends with the last refusal, or with the bridge
		for i := come; i < requests(); i++ {
			text, err := x.client.ReadString('\n')
			if err == nil && (!strings.Contains(text, `"code":-32001`) || !strings.Contains(text, fmt.Sprintf(`"id":%d}`, i))) {
				err = fmt.Errorf("instead of the refusal of request %d: %.200s", i, text)
			}
			if err != nil {
				refusals <- err
				return
			}
		}
		refusals <- nil
	}()
	for i := range come {
		line(x.t, x.codexInput, fmt.Sprintf(`{"id":%d,`, i))
	}
	if err := <-refusals; err != nil {
		x.t.Fatal(err)
	}
	go func() { // ends with the last response, or with the bridge
		for i := range come {
			if _, err := fmt.Fprintf(x.codex, `{"id":%d,"result":{}}`+"\n", i); err != nil {
				return
			}
		}
	}()
	for i := range come {
		line(x.t, x.client, fmt.Sprintf(`{"id":%d,"result":{}}`, i))
	}
}

// Both sides read a few bytes at a time: all messages arrive in order.
func TestSlowReaders(t *testing.T) {
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			x.client.Reset(smallReads{x.out})
			x.codexInput.Reset(smallReads{x.codex})
			var sent, said atomic.Int64
			n, size := min(requests()/6, maxPending), deltas()/10
			asked, written := x.sendRequests(n, &sent), x.writeStream(size, &said)
			told := make(chan error, 1)
			go func() { // ends with the last request, or with the bridge
				for i := range n {
					text, err := x.codexInput.ReadString('\n')
					if err == nil && !strings.HasPrefix(text, fmt.Sprintf(`{"id":%d,`, i)) {
						err = fmt.Errorf("Codex got %.100s instead of request %d", text, i)
					}
					if err != nil {
						told <- err
						return
					}
				}
				told <- nil
			}()
			x.readStream(size, func(text string, _ int) { t.Fatalf("the client got %.200s", text) })
			for _, c := range []<-chan error{asked, written, told} {
				if err := <-c; err != nil {
					t.Fatal(err)
				}
			}
			x.checkPeak(x.bound(name))
		})
	}
}

// smallReads reads a few bytes at a time and yields the processor.
type smallReads struct{ io.Reader }

func (f smallReads) Read(b []byte) (int, error) {
	time.Sleep(10 * time.Microsecond)
	return f.Reader.Read(b[:min(len(b), 3000)])
}
