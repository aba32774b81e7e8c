//go:build linux

package e2e_test

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Readers that stop, or are slow, and what the bridge may take meanwhile.
const (
	stoppedReader = 16 * mib
	tracedReader  = 64 * mib
	// control is what may be read before an answer of the bridge's own: what lies in the
	// pipe, and what is written in the millisecond that a lock of Go's may be unfair for.
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

// stream are deltas, as many bytes of them as asked for, each with its number.
func (x *wire) stream(size int, said *atomic.Int64) <-chan error {
	written := make(chan error, 1)
	go func() { // ends when all is written, or with the bridge
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

// streamed reads the deltas to their end, in their order, and gives everything else to other
// with how many bytes of deltas came before it.
func (x *wire) streamed(size int, other func(text string, before int)) {
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
				x.t.Errorf("%d bytes of %d have come", bytes, size)
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

// flows waits until codex has said so much: then the pipes between it and the client are full.
func flows(t *testing.T, said *atomic.Int64, least int64) {
	t.Helper()
	for end := time.Now().Add(patience); said.Load() < least; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes were said", said.Load())
		}
	}
}

// taken waits until the bridge has taken what the client has said.
func (x *wire) taken() {
	x.t.Helper()
	conn, err := x.in.SyscallConn()
	if err != nil {
		x.t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		var unread int
		if failed := conn.Control(func(fd uintptr) { unread, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); failed != nil || err != nil {
			x.t.Fatal(failed, err)
		}
		if unread == 0 {
			return
		}
		if time.Now().After(end) {
			x.t.Fatalf("%d bytes are not read", unread)
		}
	}
}

// A client that has stopped to read holds codex up, and nothing else: what it says itself
// comes to codex before it has read a byte, and what the bridge answers comes as soon as the
// pipe has been read. Nothing is lost, and the bridge takes no more for it.
func TestStoppedClient(t *testing.T) {
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			var said atomic.Int64
			written := x.stream(deltas(), &said)
			flows(t, &said, mib)
			x.clientSays(`{"id":"stop","method":"turn/interrupt","params":{"threadId":"t","turnId":"u"}}`)
			line(t, x.told, `"id":"stop"`)
			x.clientSays(`{"id":"mine","method":7}`) // the bridge answers it
			x.taken()
			answered := -1
			x.streamed(deltas(), func(text string, before int) {
				if !strings.Contains(text, `"id":"mine"`) || !strings.Contains(text, `"code":-32600`) {
					t.Fatalf("the client gets %.200s", text)
				}
				answered = before
			})
			if err := <-written; err != nil {
				t.Fatal(err)
			}
			t.Logf("%.2f MiB were read before the bridge's answer", float64(answered)/mib)
			if answered < 0 || answered > control {
				t.Errorf("%d bytes were read before the bridge's own answer; %d are allowed", answered, control)
			}
			x.took(x.bound(name))
		})
	}
}

// asks has the client send requests, and tells how many it has.
func (x *wire) asks(n int, sent *atomic.Int64) <-chan error {
	written := make(chan error, 1)
	go func() { // ends when all is written, or with the bridge
		var err error
		for i := 0; i < n && err == nil; i++ {
			_, err = fmt.Fprintf(x.in, `{"id":%d,"method":"thread/loaded/list","params":{"x":"%s"}}`+"\n", i, filler[:1000])
			sent.Add(1)
		}
		written <- err
	}()
	return written
}

// A codex that has stopped to read holds the client up, and nothing else: what codex says goes
// on to the client. When it reads again, every request comes, once and in order.
func TestStoppedCodex(t *testing.T) {
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			var sent, said atomic.Int64
			asked := x.asks(requests(), &sent)
			flows(t, &sent, 500) // half a megabyte: codex's pipes are full soon
			written := x.stream(deltas(), &said)
			x.streamed(deltas(), func(text string, _ int) { t.Fatalf("the client gets %.200s", text) })
			if err := <-written; err != nil {
				t.Fatal(err)
			}
			t.Logf("%d requests were sent, of which codex has read none", sent.Load())
			x.answersAll(name != "transparent")
			if err := <-asked; err != nil {
				t.Fatal(err)
			}
			x.took(x.bound(name))
		})
	}
}

// mostUnderWay is how many requests the bridge keeps.
const mostUnderWay = 4096

// answersAll has codex read all requests and answer none before the last; then the client
// reads. Each has one answer: codex's, or that too much is under way.
func (x *wire) answersAll(bounded bool) {
	x.t.Helper()
	come := requests()
	if bounded {
		come = mostUnderWay
	}
	refusals := make(chan error, 1)
	go func() { // ends with the last refusal, or with the bridge
		for i := come; i < requests(); i++ {
			text, err := x.client.ReadString('\n')
			if err == nil && (!strings.Contains(text, `"code":-32001`) || !strings.Contains(text, fmt.Sprintf(`"id":%d}`, i))) {
				err = fmt.Errorf("where request %d is refused comes %.200s", i, text)
			}
			if err != nil {
				refusals <- err
				return
			}
		}
		refusals <- nil
	}()
	for i := range come {
		line(x.t, x.told, fmt.Sprintf(`{"id":%d,`, i))
	}
	if err := <-refusals; err != nil {
		x.t.Fatal(err)
	}
	go func() { // ends with the last answer, or with the bridge
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

// Both are slow, a few bytes at a time: everything comes, in its order.
func TestSlowReaders(t *testing.T) {
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			x.client.Reset(few{x.out})
			x.told.Reset(few{x.codex})
			var sent, said atomic.Int64
			n, size := min(requests()/6, mostUnderWay), deltas()/10
			asked, written := x.asks(n, &sent), x.stream(size, &said)
			told := make(chan error, 1)
			go func() { // ends with the last request, or with the bridge
				for i := range n {
					text, err := x.told.ReadString('\n')
					if err == nil && !strings.HasPrefix(text, fmt.Sprintf(`{"id":%d,`, i)) {
						err = fmt.Errorf("codex gets %.100s in the place of request %d", text, i)
					}
					if err != nil {
						told <- err
						return
					}
				}
				told <- nil
			}()
			x.streamed(size, func(text string, _ int) { t.Fatalf("the client gets %.200s", text) })
			for _, c := range []<-chan error{asked, written, told} {
				if err := <-c; err != nil {
					t.Fatal(err)
				}
			}
			x.took(x.bound(name))
		})
	}
}

// few reads a few bytes at a time, and lets others go first.
type few struct{ io.Reader }

func (f few) Read(b []byte) (int, error) {
	time.Sleep(10 * time.Microsecond)
	return f.Reader.Read(b[:min(len(b), 3000)])
}
