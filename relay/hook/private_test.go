package hook_test

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"

	"codex-bridge.example/relay/hook"
)

// A connection does not wait for the check of another one, and only so many are checked at once.
func TestChecksRunAtOnce(t *testing.T) {
	var mu sync.Mutex
	running, most := 0, 0
	checked, release := make(chan struct{}, 3*hook.MaxChecks), make(chan struct{})
	l := checkedBy(t, listenLoopback(t), func(net.Conn) error {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		checked <- struct{}{}
		<-release
		mu.Lock()
		running--
		mu.Unlock()
		return nil
	})
	accepted := make(chan net.Conn)
	go func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	for range 3 * hook.MaxChecks {
		dialTCP(t, l)
	}
	for range hook.MaxChecks {
		<-checked // no check has ended
	}
	close(release)
	for range 3 * hook.MaxChecks {
		(<-accepted).Close()
	}
	if most > hook.MaxChecks {
		t.Errorf("%d checks at once, want at most %d", most, hook.MaxChecks)
	}
}

// A rejected connection ends, and the next one is accepted. An error of the system is one of Accept, and not the last
// one: http.Server goes on after it.
func TestAcceptGoesOn(t *testing.T) {
	first := true
	l := checkedBy(t, &failingOnce{Listener: listenLoopback(t)}, func(net.Conn) error {
		defer func() { first = false }()
		if first {
			return errors.New("a sandboxed command")
		}
		return nil
	})
	rejected := dialTCP(t, l)
	got := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		got <- err
	}()
	if err := <-got; !errors.Is(err, errNoFiles) {
		t.Fatalf("Accept returned %v, want the system's error", err)
	}
	go func() {
		conn, err := l.Accept()
		if err == nil {
			conn.Close()
		}
		got <- err
	}()
	if n, err := rejected.Read(make([]byte, 1)); err == nil {
		t.Errorf("the rejected connection has %d bytes", n)
	}
	dialTCP(t, l)
	if err := <-got; err != nil {
		t.Errorf("the second connection: %v", err)
	}
	l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

var errNoFiles = errors.New("too many open files")

// failingOnce is a listener whose first Accept fails.
type failingOnce struct {
	net.Listener
	once sync.Once
}

func (l *failingOnce) Accept() (conn net.Conn, err error) {
	l.once.Do(func() { err = errNoFiles })
	if err != nil {
		return nil, err
	}
	return l.Listener.Accept()
}

// checkedBy returns a listener that accepts the connections of l that pass check.
func checkedBy(t *testing.T, l net.Listener, check func(net.Conn) error) *hook.PrivateListener {
	t.Helper()
	private := hook.NewPrivateListener(l, check, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { private.Close() })
	return private
}

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func dialTCP(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
