package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/rpc"
)

// watchThreads begins to watch the threads on a connection of its own, which ends with Codex: a turn goes on,
// and ends, after the last client has left. A client has sent initialize before, so Codex has its name.
func (g *generation) watchThreads() {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	conn, err := g.server.Dial(ctx)
	if err != nil {
		g.Log.Warn("threads without clients are not watched: mount points of protected paths stay until a client resumes them", "error", err)
		return
	}
	in, out := conn.Streams()
	if _, err = fmt.Fprintf(in, `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"codex-bridge","version":%q}}}`+"\n", buildinfo.Version); err == nil {
		_, err = io.WriteString(in, `{"method":"initialized"}`+"\n")
	}
	if err != nil {
		g.Log.Warn("threads without clients are not watched: mount points of protected paths stay until a client resumes them", "error", err)
		conn.Kill()
		return
	}
	go g.readStatus(out)
}

// readStatus handles the notifications about the status of threads. It returns at the end of the connection.
func (g *generation) readStatus(out io.Reader) {
	for lines := json.NewDecoder(out); ; {
		var line json.RawMessage
		if lines.Decode(&line) != nil {
			return
		}
		if m, err := rpc.ParseMessage(line); err == nil && m.Method == "thread/status/changed" {
			g.Guard.ThreadStatusChanged(m.Params)
		}
	}
}

// interruptTurns interrupts turns that began before the policy was enforced, as one of the clients. If no
// client can, it ends Codex, which is started again for the next one.
func (g *generation) interruptTurns(ctx context.Context) {
	var clients []*guard.Guard
	for _, a := range g.assemblies() {
		if a.Guard.HasClient() {
			clients = append(clients, a.Guard)
		}
	}
	for _, one := range clients {
		err := one.InterruptTurns(ctx, g.IsHooked, clients...)
		if err == nil || ctx.Err() != nil {
			return
		}
		g.Log.Warn("a client could not interrupt the turns that began before the policy was enforced", "error", err)
	}
	select {
	case <-g.server.Done(): // with its turns; Codex may be started again already
		return
	default:
	}
	g.Log.Warn("codex is ended: turns may run that began before the policy was enforced, and no client can interrupt them")
	g.server.Close(0, g.grace)
}
