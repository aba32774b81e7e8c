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

	"codex-bridge/bridge/store"
)

const postgresSocket = ".s.PGSQL.5432"

// wire is between a store and its PostgreSQL. It breaks at the n-th piece that the store sends,
// and is whole again for the connections after that.
type wire struct {
	server string

	mu      sync.Mutex
	n       int // pieces until it breaks; 0: it does not
	arrives bool
	broke   bool
}

// newWire begins before a database, and returns the address that goes through it.
func newWire(t *testing.T, address string) (*wire, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "wire") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	w := &wire{server: filepath.Join(q.Get("host"), postgresSocket)}
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
			all.Go(func() { w.sends(in, out); in.Close(); out.Close() })
		}
	})
	q.Set("host", folder)
	u.RawQuery = q.Encode()
	return w, u.String()
}

// breaks has the wire break; arrives: the server still gets what was sent last, and nobody
// hears its answer.
func (w *wire) breaks(n int, arrives bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n, w.arrives, w.broke = n, arrives, false
}

func (w *wire) broken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n = 0
	return w.broke
}

func (w *wire) sends(in, out net.Conn) {
	piece := make([]byte, 64<<10)
	for {
		n, err := in.Read(piece)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.n--
		last := w.n == 0
		w.broke = w.broke || last
		arrives := w.arrives || !last
		w.mu.Unlock()
		if last {
			in.Close() // before the server can answer
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

// The database is lost at each piece of what is said to it, whether that arrives or not: what
// was acknowledged is there, in order, what was not is an error, and the next call works.
func TestLostPostgres(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		t.Run(fmt.Sprintf("arrives %v", arrives), func(t *testing.T) {
			o := postgresDatabase(t)
			w, address := newWire(t, o.URL)
			s := open(t, store.Options{URL: address})
			var said []string
			unsure := make(map[string]bool)
			decides := func(name string) error {
				err := s.Append(t.Context(), store.Decision{Thread: name})
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
				w.breaks(n, arrives)
				err := decides(fmt.Sprint("at ", n))
				if !w.broken() {
					if err != nil {
						t.Errorf("the wire was whole, and Append says %v", err)
					}
					break
				}
				if err != nil {
					if lost++; !strings.Contains(err.Error(), s.Where()) {
						t.Errorf("lost at %d: the error names no database: %v", n, err)
					}
				}
				if err := decides(fmt.Sprint("after ", n)); err != nil {
					t.Errorf("lost at %d, and then Append says %v", n, err)
				}
			}
			if lost < 3 {
				t.Errorf("%d of %d were lost", lost, n)
			}
			if _, err := s.Verify(t.Context()); err != nil {
				t.Error(err)
			}
			there := make(map[string]int)
			var sure []string
			for _, e := range entries(t, open(t, o), store.Filter{}) {
				if there[e.Thread]++; !unsure[e.Thread] {
					sure = append(sure, e.Thread)
				}
			}
			if !slices.Equal(sure, said) {
				t.Errorf("there is %q, and acknowledged was %q", sure, said)
			}
			for name, times := range there {
				if times > 1 {
					t.Errorf("%q is there %d times", name, times)
				}
			}
			t.Logf("%d pieces, %d calls failed, %d of them are there", n-1, lost, len(there)-len(said))
		})
	}
}
