package rpc_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/rpc"
)

// connect returns a pipe or a socketpair, as blocking files.
func connect(t *testing.T, socket bool) (r, w *os.File) {
	t.Helper()
	var fds [2]int
	err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC)
	if socket {
		fds, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, w = os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// markingHandler wants some methods, and replaces each of their lines by one of its own.
type markingHandler struct{ out rpc.Sink }

func (m markingHandler) WantsMethod(method []byte, _ bool) bool { return string(method) == "wanted" }
func (m markingHandler) WantsResponse([]byte) bool              { return false }
func (m markingHandler) MayWantResponse() bool                  { return false }
func (m markingHandler) Handle(line []byte)                     { m.out.WriteMessage(mark(line)) }
func (m markingHandler) HandleTooLong([]byte)                   { m.out.WriteMessage([]byte(`{"method":"too long"}`)) }

func mark(line []byte) []byte { return fmt.Appendf(nil, `{"method":"taken","params":%d}`, len(line)) }

// randomLines returns lines from Codex, and the lines that the client must get.
func randomLines(rnd *rand.Rand, size int, wanted float64) (in, out []byte) {
	for len(in) < size {
		method, length := "passed", rnd.IntN(500)
		switch rnd.IntN(400) {
		case 0:
			length = rnd.IntN(3 * rpc.PumpBufferSize)
		case 1:
			length = rnd.IntN(64 << 10)
		}
		if rnd.Float64() < wanted {
			method = "wanted"
		}
		line := fmt.Appendf(nil, `{"method":"%s","params":"%d %s"}`, method, len(in), strings.Repeat("ab", length/2))
		in = append(append(in, line...), '\n')
		if method == "wanted" {
			line = mark(line)
		}
		out = append(append(out, line...), '\n')
	}
	return in, out
}

// Every byte must arrive once and in order, with or without a copy.
func TestJoin(t *testing.T) {
	for _, c := range []struct {
		name           string
		socket, poller bool
		wanted         float64
		tail           string
	}{
		{name: "pipe"},
		{name: "pipe, Go's poller", poller: true},
		{name: "pipe, some wanted", wanted: 0.0005},
		{name: "pipe, many wanted", wanted: 0.05},
		{name: "socket", socket: true},
		{name: "socket, some wanted", socket: true, wanted: 0.0005},
		{name: "pipe, half a line at the end", tail: `{"method":"passed","par`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(4) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				said, want := randomLines(rnd, 8<<20, c.wanted)
				said, want = append(said, c.tail...), append(want, c.tail...)
				codex, say := connect(t, false)
				if c.poller {
					codex, say, _ = os.Pipe()
				}
				hear, client := connect(t, c.socket)
				go writeRandomly(rnd, say, said)
				go func() {
					in, w := rpc.Join(codex, client)
					sink := rpc.NewLineSink(w)
					if err := rpc.NewPump(sink, markingHandler{sink}, markingHandler{sink}, 8<<20).Run(in); err != nil {
						t.Error(err)
					}
					codex.Close()
					client.Close()
				}()
				got, err := io.ReadAll(hear)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					at := 0
					for at < min(len(got), len(want)) && got[at] == want[at] {
						at++
					}
					t.Fatalf("seed %d: %d bytes, want %d; they differ from byte %d on", seed, len(got), len(want), at)
				}
			}
		})
	}
}

// writeRandomly writes in pieces of all sizes, with pauses.
func writeRandomly(rnd *rand.Rand, say *os.File, text []byte) {
	for len(text) > 0 {
		n := min(len(text), 1+rnd.IntN(512<<rnd.IntN(11)))
		if _, err := say.Write(text[:n]); err != nil {
			break // the client has closed
		}
		text = text[n:]
		if rnd.IntN(200) == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	say.Close()
}

// Messages of other goroutines to the client come between lines.
func TestJoinWithConcurrentWrites(t *testing.T) {
	const voice = `{"method":"from another goroutine"}`
	said, want := randomLines(rand.New(rand.NewPCG(7, 7)), 16<<20, 0)
	codex, say := connect(t, false)
	hear, client := connect(t, false)
	in, w := rpc.Join(codex, client)
	sink := rpc.NewLineSink(w)
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				sink.WriteMessage([]byte(voice))
				time.Sleep(50 * time.Microsecond)
			}
		}
	})
	go writeRandomly(rand.New(rand.NewPCG(8, 8)), say, said)
	go func() {
		_ = rpc.NewPump(sink, markingHandler{sink}, markingHandler{sink}, 8<<20).Run(in)
		close(stop)
		others.Wait()
		client.Close()
	}()
	got, err := io.ReadAll(hear)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(got, []byte(voice+"\n")); n == 0 {
		t.Error("nothing was heard of the other goroutine")
	}
	if got = bytes.ReplaceAll(got, []byte(voice+"\n"), nil); !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}

// A client that closes does not stop Codex: its output is read to the end.
func TestJoinWithClosedClient(t *testing.T) {
	for _, socket := range []bool{false, true} {
		said, _ := randomLines(rand.New(rand.NewPCG(9, 9)), 8<<20, 0)
		codex, say := connect(t, false)
		hear, client := connect(t, socket)
		in, w := rpc.Join(codex, client)
		sink := rpc.NewLineSink(w)
		go writeRandomly(rand.New(rand.NewPCG(8, 8)), say, said)
		go func() {
			_, _ = io.CopyN(io.Discard, hear, 2<<20)
			hear.Close()
		}()
		if err := rpc.NewPump(sink, markingHandler{sink}, markingHandler{sink}, 8<<20).Run(in); err != nil {
			t.Error(err)
		}
		if sink.Err() == nil {
			t.Error("the sink did not notice")
		}
	}
}

// Other files than pipes and sockets can't be joined, but work.
func TestJoinOther(t *testing.T) {
	said, want := randomLines(rand.New(rand.NewPCG(3, 3)), 2<<20, 0.01)
	var got bytes.Buffer
	in, w := rpc.Join(bytes.NewReader(said), &got)
	sink := rpc.NewLineSink(w)
	if err := rpc.NewPump(sink, markingHandler{sink}, markingHandler{sink}, 8<<20).Run(in); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes, want %d", got.Len(), len(want))
	}
}
