package server

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdio is an MCP server that is our child.
type stdio struct {
	s *Server
	*conn
}

func (s *Server) openStdio(context.Context) (link, error) {
	c, err := s.open()
	if err != nil {
		return nil, err
	}
	return stdio{s, c}, nil
}

// Connect is mcp.Transport's.
func (l stdio) Connect(context.Context) (mcp.Connection, error) { return l, nil }

// Read gives the next message that concerns us. A server may send any number of others,
// such as its log, and the SDK puts them in a line without end.
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

// SessionID is mcp.Connection's: over stdio there is none.
func (l stdio) SessionID() string { return "" }

func (l stdio) over() error { return l.why() }

func (l stdio) finish(ctx context.Context, session *mcp.ClientSession) {
	l.conn.finish(ctx, l.s.o.Grace)
	if session != nil {
		_ = session.Close() // of a connection that has ended
	}
}
