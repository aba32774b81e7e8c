package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/creachadair/jrpc2"

	"codex-bridge/relay/tools"
)

// jsonrpcPeer is a child that speaks two methods of our own, tools/list and tools/call.
type jsonrpcPeer struct {
	s      *Server
	conn   *conn
	client *jrpc2.Client
	news   chan struct{}
}

func (s *Server) openJSONRPC(context.Context) (peer, error) {
	c, err := s.open()
	if err != nil {
		return nil, err
	}
	p := &jsonrpcPeer{s: s, conn: c, news: make(chan struct{}, 1)}
	p.client = jrpc2.NewClient(c, &jrpc2.ClientOptions{
		OnNotify: func(r *jrpc2.Request) {
			if r.Method() == "tools/changed" {
				select {
				case p.news <- struct{}{}:
				default:
				}
			}
		},
		OnCancel: func(client *jrpc2.Client, r *jrpc2.Response) {
			_ = client.Notify(s.grace, "$/cancelRequest", map[string]any{"id": json.RawMessage(r.ID())}) // it may have ended
		},
		OnStop: func(_ *jrpc2.Client, err error) { c.end(err) }, // should the cause be another than Recv's
	})
	return p, nil
}

func (p *jsonrpcPeer) changed() <-chan struct{} { return p.news }
func (p *jsonrpcPeer) gone() <-chan struct{}    { return p.conn.over }
func (p *jsonrpcPeer) reason() error            { return p.conn.why() }

func (p *jsonrpcPeer) close(ctx context.Context) {
	p.conn.finish(ctx, p.s.o.Grace)
	_ = p.client.Close() // it has ended
}

func (p *jsonrpcPeer) list(ctx context.Context) (offer, error) {
	var list struct {
		Tools []listed `json:"tools"`
	}
	if err := p.ask(ctx, "tools/list", map[string]any{}, &list); err != nil {
		return offer{}, err
	}
	return p.s.take(list.Tools), nil
}

func (p *jsonrpcPeer) call(ctx context.Context, name string, call tools.Call) (tools.Result, error) {
	var answer json.RawMessage
	err := p.ask(ctx, "tools/call", struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		ThreadID  string          `json:"threadId"`
		Cwd       string          `json:"cwd"`
	}{name, arguments(call), call.Thread, call.Cwd}, &answer)
	if err != nil {
		return tools.Result{}, err
	}
	return fromJSON(answer)
}

func (p *jsonrpcPeer) ask(ctx context.Context, method string, params, result any) error {
	err := p.client.CallResult(ctx, method, params, result)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w%s", context.Cause(ctx), p.conn.noise())
	}
	if why := p.conn.why(); why != nil {
		return why
	}
	var refusal *jrpc2.Error
	if errors.As(err, &refusal) {
		return fmt.Errorf("it refuses: %s (code %d)", clip(refusal.Message, maxSaid), refusal.Code)
	}
	return fmt.Errorf("its answer to %s can't be read: %w", method, err)
}

// fromJSON makes a result of an answer: a text, {contentItems, success} as Codex has
// it, or any other JSON, which is shown as it is.
func fromJSON(answer json.RawMessage) (tools.Result, error) {
	var text string
	if json.Unmarshal(answer, &text) == nil {
		return tools.Result{Content: []tools.Content{{Text: text}}}, nil
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(answer, &members) // no object has no members
	if members["contentItems"] == nil {
		return tools.Result{Content: []tools.Content{{Text: string(answer)}}}, nil
	}
	var whole struct {
		ContentItems []struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			ImageURL string `json:"imageUrl"`
		} `json:"contentItems"`
		Success *bool `json:"success"`
	}
	if err := json.Unmarshal(answer, &whole); err != nil {
		return tools.Result{}, fmt.Errorf("its answer can't be read: %w", err)
	}
	r := tools.Result{Failed: whole.Success != nil && !*whole.Success}
	for _, item := range whole.ContentItems {
		switch item.Type {
		case "inputText":
			r.Content = append(r.Content, tools.Content{Text: item.Text})
		case "inputImage":
			r.Content = append(r.Content, tools.Content{Image: item.ImageURL})
		default:
			r.Content = append(r.Content, tools.Content{Text: fmt.Sprintf("[content of the unknown type %.64q: not shown]", item.Type)})
		}
	}
	return r, nil
}
