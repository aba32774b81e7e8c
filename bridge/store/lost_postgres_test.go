//go:build linux && amd64

package store_test

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
)

const postgresSocket = ".s.PGSQL.5432"

// lossyProxy forwards connections to a PostgreSQL server. It closes the connection at the n-th
// packet from the store; later connections work.
type lossyProxy struct {
	server string

	mu      sync.Mutex
	left    int // packets until the loss; 0: no loss
	deliver bool
	failed  bool
}

// newLossyProxy starts a proxy and returns the database URL that uses it.
func newLossyProxy(t *testing.T, address string) (*lossyProxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "wire") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	w := &lossyProxy{server: filepath.Join(q.Get("host"), postgresSocket)}
	l, err := net.Listen("unix", filepath.Join(folder, postgresSocket))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait(); os.RemoveAll(folder) })
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", w.server)
			if err != nil {
				in.Close()
				continue
			}
			all.Go(func() { io.Copy(in, out); in.Close(); out.Close() })
			all.Go(func() { w.forward(in, out); in.Close(); out.Close() })
		}
	})
	q.Set("host", folder)
	u.RawQuery = q.Encode()
	return w, u.String()
}

// failAt makes the proxy close the connection at the n-th packet. deliver: the server still
// receives that packet, but its response is lost.
func (w *lossyProxy) failAt(n int, arrives bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left, w.deliver, w.failed = n, arrives, false
}

func (w *lossyProxy) stop() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = 0
	return w.failed
}

func (w *lossyProxy) forward(in, out net.Conn) {
	piece := make([]byte, 64<<10)
	for {
		n, err := in.Read(piece)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.left--
		last := w.left == 0
		w.failed = w.failed || last
		arrives := w.deliver || !last
		w.mu.Unlock()
		if last {
			in.Close() // before the server can respond
		}
		if arrives {
			if _, err := out.Write(piece[:n]); err != nil {
				return
			}
		}
		if last {
			return
		}
	}
}

// The connection is lost at each packet, delivered or not. Acknowledged decisions are there, in
// order; others are errors; the next call works.
func TestAppendReconnectsAtAnyLoss(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		t.Run(fmt.Sprintf("arrives %v", arrives), func(t *testing.T) {
			o := postgresDatabase(t)
			w, address := newLossyProxy(t, o.URL)
			s := open(t, store.Options{URL: address})
			var said []string
			unsure := make(map[string]bool)
			decides := func(name string) error {
				err := s.Append(t.Context(), decision.Record{Thread: name})
				if err == nil {
					said = append(said, name)
				} else {
					unsure[name] = true
				}
				return err
			}
			if err := decides("first"); err != nil {
				t.Fatal(err)
			}
			lost, n := 0, 1
			for ; ; n++ {
				w.failAt(n, arrives)
				err := decides(fmt.Sprint("at ", n))
				if !w.stop() {
					if err != nil {
						t.Errorf("without a loss Append returned %v", err)
					}
					break
				}
				if err != nil {
					if lost++; !strings.Contains(err.Error(), s.Location()) {
						t.Errorf("lost at %d: the error has no database: %v", n, err)
					}
				}
				if err := decides(fmt.Sprint("after ", n)); err != nil {
					t.Errorf("lost at %d, the next Append returned %v", n, err)
				}
			}
			if lost < 1 {
				t.Errorf("%d of %d calls failed", lost, n)
			}
			if _, err := s.Verify(t.Context()); err != nil {
				t.Error(err)
			}
			there := make(map[string]int)
			var sure []string
			for _, e := range readEntries(t, open(t, o), store.Filter{}) {
				if there[e.Thread]++; !unsure[e.Thread] {
					sure = append(sure, e.Thread)
				}
			}
			if !slices.Equal(sure, said) {
				t.Errorf("decisions %q, acknowledged %q", sure, said)
			}
			for name, times := range there {
				if times > 1 {
					t.Errorf("%q is in the log %d times", name, times)
				}
			}
			t.Logf("%d packets, %d calls failed, %d of them are in the log", n-1, lost, len(there)-len(said))
		})
	}
}
