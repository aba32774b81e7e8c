package serve

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// maxHandshakes is how many connections may be open without an upgrade request that the server accepts. A client on
// this machine takes milliseconds for it.
const maxHandshakes = 64

// handshakes are the connections that have not sent an upgrade request yet. If there are too many, the oldest one is
// closed: clients that send nothing can't keep out another one.
type handshakes struct {
	mu    sync.Mutex
	conns []net.Conn // the oldest first
}

// connKey is the key of a connection in the context of its request.
type connKey struct{}

// begin adds a connection, and returns the context of its request.
func (h *handshakes) begin(ctx context.Context, conn net.Conn) context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns = append(h.conns, conn)
	if len(h.conns) > maxHandshakes {
		_ = h.conns[0].Close()
		h.conns = slices.Delete(h.conns, 0, 1)
	}
	return context.WithValue(ctx, connKey{}, conn)
}

// end removes the connection of a request that the server accepts.
func (h *handshakes) end(ctx context.Context) {
	if conn, ok := ctx.Value(connKey{}).(net.Conn); ok {
		h.remove(conn)
	}
}

// changed removes a connection that has ended.
func (h *handshakes) changed(conn net.Conn, state http.ConnState) {
	if state == http.StateClosed {
		h.remove(conn)
	}
}

func (h *handshakes) remove(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns = slices.DeleteFunc(h.conns, func(c net.Conn) bool { return c == conn })
}
