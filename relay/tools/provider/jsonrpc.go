package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/creachadair/jrpc2"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/relay/tools"
)

// jsonrpcPeer is a child that speaks the bridge's own protocol: tools/list and tools/call.
type jsonrpcPeer struct {
	server  *Server
	conn    *conn
	client  *jrpc2.Client
	changes chan struct{}
}

func (s *Server) openJSONRPC(context.Context) (peer, error) {
	c, err := s.startProcess()
	if err != nil {
		return nil, err
	}
	p := &jsonrpcPeer{server: s, conn: c, changes: make(chan struct{}, 1)}
	p.client = jrpc2.NewClient(c, &jrpc2.ClientOptions{
		OnNotify: func(r *jrpc2.Request) {
			if r.Method() == "tools/changed" {
				select {
				case p.changes <- struct{}{}:
				default:
				}
			}
		},
		OnCancel: func(client *jrpc2.Client, r *jrpc2.Response) {
			_ = client.Notify(s.shutdownCtx, "$/cancelRequest", map[string]any{"id": json.RawMessage(r.ID())}) // an error means that the server has ended
		},
		OnStop: func(_ *jrpc2.Client, err error) { c.setEnded(err) }, // if Recv was not the cause
	})
	return p, nil
}

func (p *jsonrpcPeer) changed() <-chan struct{} { return p.changes }
func (p *jsonrpcPeer) done() <-chan struct{}    { return p.conn.done }
func (p *jsonrpcPeer) err() error               { return p.conn.closeErr() }

func (p *jsonrpcPeer) close(ctx context.Context) {
	p.conn.shutdown(ctx, p.server.options.Grace)
	_ = p.client.Close() // the connection has ended
}

func (p *jsonrpcPeer) list(ctx context.Context) (toolList, error) {
	var list struct {
		Tools []listedTool `json:"tools"`
	}
	if err := p.request(ctx, "tools/list", map[string]any{}, &list); err != nil {
		return toolList{}, err
	}
	return p.server.newToolList(list.Tools), nil
}

func (p *jsonrpcPeer) call(ctx context.Context, name string, call tools.Call) (tools.Result, error) {
	var answer json.RawMessage
	err := p.request(ctx, "tools/call", struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		ThreadID  string          `json:"threadId"`
		Cwd       string          `json:"cwd"`
	}{name, call.Arguments, call.Thread, call.Cwd}, &answer)
	if err != nil {
		return tools.Result{}, err
	}
	return convertJSONResult(answer)
}

func (p *jsonrpcPeer) request(ctx context.Context, method string, params, result any) error {
	err := p.client.CallResult(ctx, method, params, result)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w%s", context.Cause(ctx), p.conn.skippedNote())
	}
	if why := p.conn.closeErr(); why != nil {
		return why
	}
	var refusal *jrpc2.Error
	if errors.As(err, &refusal) {
		return fmt.Errorf("it returned an error: %s (code %d)", display.ClipTo(refusal.Message, maxShown), refusal.Code)
	}
	return fmt.Errorf("its answer to %s can't be read: %w", method, err)
}

// convertJSONResult converts a result: a string, or JSON as a command prints it.
func convertJSONResult(answer json.RawMessage) (tools.Result, error) {
	var text string
	if json.Unmarshal(answer, &text) == nil {
		return tools.Result{Content: []tools.Content{{Text: text}}}, nil
	}
	return ParseOutput(answer)
}
