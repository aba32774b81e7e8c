//go:build linux

package e2e_test

import (
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"codex-bridge/bridge/store/postgrestest"

	"github.com/google/go-cmp/cmp"
)

// network is what lies between the bridges and their database. It can be cut.
type network struct {
	t      *testing.T
	folder string // of the socket that the bridges reach
	server string // the socket of the database

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

// newNetwork begins before a database, and returns the address that goes through it.
func newNetwork(t *testing.T, address string) (*network, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "net") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	const socket = ".s.PGSQL.5432"
	n := &network{t: t, folder: filepath.Join(folder, socket), server: filepath.Join(u.Query().Get("host"), socket)}
	q := u.Query()
	q.Set("host", folder)
	u.RawQuery = q.Encode()
	n.mend()
	t.Cleanup(n.cut)
	return n, u.String()
}

// mend lets the bridges through.
func (n *network) mend() {
	n.t.Helper()
	listener, err := net.Listen("unix", n.folder)
	if err != nil {
		n.t.Fatal(err)
	}
	n.mu.Lock()
	n.listener = listener
	n.mu.Unlock()
	go func() { // ends with cut
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", n.server)
			if err != nil {
				in.Close()
				return
			}
			n.mu.Lock()
			n.conns = append(n.conns, in, out)
			n.mu.Unlock()
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() {
					_, _ = io.Copy(way[0], way[1])
					way[0].Close()
				}()
			}
		}
	}()
}

// cut ends all connections, and lets none through.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener.Close()
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
}

// Two bridges share a database: each finds what was said in the other, and the log is one
// chain. While it can't be reached, what would have to be on record is refused with that
// reason, and what need not be passes; afterwards all is as before, and nothing said is lost.
func TestSharedState(t *testing.T) {
	t.Parallel()
	server, err := postgrestest.Start(postgrestest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	address, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	between, address := newNetwork(t, address)
	config := keptPolicy + "[store]\nurl = \"" + address + "\"\n"
	one, other := newWorld(t, options{config: config}), newWorld(t, options{config: config})
	first, second := one.open(proxyArgv...), other.open(proxyArgv...)
	first.initialize(nil)
	second.initialize(nil)
	never := map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"} // is rewritten, which is on record
	thread, elsewhere := first.thread(never), second.thread(never)
	first.say(thread, "good day, heliotrope")
	second.say(elsewhere, "good day, amaranth")
	second.told(elsewhere, "RUN: touch denied")

	between.cut()
	refused := first.refused("thread/start", map[string]any{"cwd": one.workspace, "approvalPolicy": "never"})
	if refused.Code != -32010 || !strings.Contains(refused.Message, "so the bridge does not apply it") {
		t.Errorf("without its state the bridge says %v", refused)
	}
	if said := second.told(elsewhere, "RUN: touch denied"); !strings.Contains(said, "denied") && !strings.Contains(said, "blocked") {
		t.Errorf("without its state the model is told %q", said)
	}
	first.say(thread, "good day in the meantime, saffron")

	between.mend()
	first.thread(never)
	second.told(elsewhere, "RUN: touch denied")
	first.quit()
	second.quit()
	second.absent("denied")
	for _, word := range []string{"heliotrope", "amaranth", "saffron"} {
		for name, w := range map[string]*world{"one": one, "the other": other} {
			if got := w.searched(word); len(got) != 2 {
				t.Errorf("in %s is found of %s: %q", name, word, got)
			}
		}
	}
	verify := exec.Command(proxyPath, "decisions", "verify")
	verify.Env = other.env
	out, err := verify.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "none changed") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, w := range []*world{one, other} {
		if _, err := os.Stat(filepath.Join(w.root, "state", "state.db")); !os.IsNotExist(err) {
			t.Errorf("there is a SQLite database, too: %v", err)
		}
	}
	if diff := cmp.Diff("", strings.Join(one.searched("missing", "--kind", "gap"), "\n")); diff != "" {
		t.Errorf("there are gaps: %s", diff)
	}
}
