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

	"codex-bridge.example/bridge/store/postgrestest"

	"github.com/google/go-cmp/cmp"
)

// network forwards connections of the bridges to their database. A test can cut it.
type network struct {
	t      *testing.T
	folder string // of the socket for the bridges
	server string // the socket of the database

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

// newNetwork starts a network and returns the database URL that uses it.
func newNetwork(t *testing.T, address string) (*network, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "net") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	const socket = ".s.PGSQL.5432"
	n := &network{t: t, folder: filepath.Join(folder, socket), server: filepath.Join(u.Query().Get("host"), socket)}
	q := u.Query()
	q.Set("host", folder)
	u.RawQuery = q.Encode()
	n.restore()
	t.Cleanup(n.cut)
	return n, u.String()
}

// restore accepts connections again.
func (n *network) restore() {
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

// cut closes all connections and accepts none.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener.Close()
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
}

// postgresServer starts a PostgreSQL server for a test.
func postgresServer(t *testing.T) *postgrestest.Server {
	t.Helper()
	server, err := postgrestest.Start(postgrestest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// postgresDatabase starts a server and returns the address of an empty database.
func postgresDatabase(t *testing.T) string {
	t.Helper()
	address, err := postgresServer(t).Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Two bridges share a database: each finds the other's transcripts, and the log is one chain.
// Without the database, actions that must be logged are refused with that reason, and others pass.
// Later all works again, without lost messages.
func TestSharedState(t *testing.T) {
	t.Parallel()
	address := postgresDatabase(t)
	between, address := newNetwork(t, address)
	config := keptPolicy + "[store]\nurl = \"" + address + "\"\n"
	one, other := newWorld(t, options{config: config}), newWorld(t, options{config: config})
	first, second := one.open(proxyArgv...), other.open(proxyArgv...)
	first.initialize(nil)
	second.initialize(nil)
	never := map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"} // rewritten, so it must be logged
	thread, elsewhere := first.thread(never), second.thread(never)
	first.runTurn(thread, "good day, heliotrope")
	second.runTurn(elsewhere, "good day, amaranth")
	second.toolOutput(elsewhere, "RUN: touch denied")

	between.cut()
	refused := first.mustFail("thread/start", map[string]any{"cwd": one.workspace, "approvalPolicy": "never"})
	if refused.Code != -32010 || !strings.Contains(refused.Message, "so the bridge does not apply it") {
		t.Errorf("without its state the bridge says %v", refused)
	}
	if said := second.toolOutput(elsewhere, "RUN: touch denied"); !strings.Contains(said, "denied") && !strings.Contains(said, "blocked") {
		t.Errorf("without the database the model got %q", said)
	}
	first.runTurn(thread, "good day in the meantime, saffron")

	between.restore()
	first.thread(never)
	second.toolOutput(elsewhere, "RUN: touch denied")
	first.closeAndWait()
	second.closeAndWait()
	second.checkAbsent("denied")
	for _, word := range []string{"heliotrope", "amaranth", "saffron"} {
		for name, w := range map[string]*world{"one": one, "the other": other} {
			if got := w.search(word); len(got) != 2 {
				t.Errorf("found in %s for %s: %q", name, word, got)
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
			t.Errorf("a SQLite database exists: %v", err)
		}
	}
	if diff := cmp.Diff("", strings.Join(one.search("missing", "--kind", "gap"), "\n")); diff != "" {
		t.Errorf("the log has gaps: %s", diff)
	}
}
