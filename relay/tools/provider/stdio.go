package provider

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codex-bridge.example/bridge/child"
)

// stdio is a transport to an MCP server that is a child.
type stdio struct {
	server *Server
	*conn
}

func (s *Server) openStdio(context.Context) (transport, error) {
	c, err := s.startProcess()
	if err != nil {
		return nil, err
	}
	return stdio{s, c}, nil
}

// Connect implements mcp.Transport.
func (l stdio) Connect(context.Context) (mcp.Connection, error) { return l, nil }

// Read returns the next relevant message. It drops others, such as logs, because the SDK
// queues them without a limit.
func (l stdio) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := l.Recv()
		if err != nil {
			return nil, err
		}
		message, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			l.skip(line)
			continue
		}
		request, ok := message.(*jsonrpc.Request)
		if ok && !request.IsCall() && request.Method != "notifications/tools/list_changed" && request.Method != "notifications/cancelled" {
			continue
		}
		return message, nil
	}
}

func (l stdio) Write(_ context.Context, message jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	return l.Send(line)
}

// SessionID implements mcp.Connection; stdio has no session ids.
func (l stdio) SessionID() string { return "" }

func (l stdio) shutdown(ctx context.Context, session *mcp.ClientSession) {
	l.conn.shutdown(ctx, l.server.options.Grace)
	if session != nil {
		_ = session.Close() // the connection has ended
	}
}

const (
	maxStderr = 4 << 10 // the last bytes of stderr that are kept
	maxShown  = 2 << 10 // bytes of a server's text in an error
	maxLogged = 1 << 10 // bytes of a line in the log
)

// stderrLog is a child's stderr. It logs the lines at debug level and keeps the end for
// errors.
type stderrLog struct {
	log *slog.Logger

	mu   sync.Mutex
	tail child.Tail
	line []byte
}

func (s *stderrLog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail.Max = maxStderr
	_, _ = s.tail.Write(p) // never fails
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.lines(p)
	}
	return len(p), nil
}

func (s *stderrLog) lines(p []byte) {
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		s.line = append(s.line, line[:min(len(line), max(0, maxLogged-len(s.line)))]...)
		if !found {
			return
		}
		s.log.Debug("a tool server's stderr", "line", strings.ToValidUTF8(string(s.line), "\uFFFD"))
		s.line, p = s.line[:0], rest
	}
}

// note returns the end of stderr, to be appended to an error.
func (s *stderrLog) note() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(s.tail.Kept), "\uFFFD"))
	if text == "" {
		return ""
	}
	if over := len(text) - maxShown; over > 0 {
		text = "… " + strings.ToValidUTF8(text[over:], "")
	}
	return "; stderr: " + text
}
