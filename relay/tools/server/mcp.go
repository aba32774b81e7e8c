package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codex-bridge/relay/tools"
)

// greeting is the version of MCP that begins with `initialize`. It is tried first: the
// newer one begins with another method, at which servers exist that end, since they
// know of nothing before `initialize`.
const greeting = "2025-11-25"

// link is the way to an MCP server.
type link interface {
	mcp.Transport
	// over is the reason why there is nothing to be had any more; nil: not known.
	over() error
	// noise is what else can be told of a server that does not answer.
	noise() string
	// finish ends it; until ctx is done in order.
	finish(ctx context.Context, session *mcp.ClientSession)
}

// mcpPeer is an MCP server.
type mcpPeer struct {
	s       *Server
	link    link
	session *mcp.ClientSession
	news    chan struct{}
	ended   chan struct{}
	end     error // once ended
}

// greet begins a session over a link that open makes.
func (s *Server) greet(ctx context.Context, open func(context.Context) (link, error)) (peer, error) {
	p, err := s.greetIn(ctx, open, greeting)
	if refusal(err) != nil && ctx.Err() == nil {
		if newer, other := s.greetIn(ctx, open, ""); other == nil {
			return newer, nil
		}
	}
	if err != nil {
		return nil, s.plain(err)
	}
	return p, nil
}

func (s *Server) greetIn(ctx context.Context, open func(context.Context) (link, error), version string) (*mcpPeer, error) {
	l, err := open(ctx)
	if err != nil {
		return nil, err
	}
	p := &mcpPeer{s: s, link: l, news: make(chan struct{}, 1), ended: make(chan struct{})}
	client := mcp.NewClient(&mcp.Implementation{Name: "codex-bridge", Version: s.o.Version}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{}, // no roots, no sampling, no elicitation
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case p.news <- struct{}{}:
			default:
			}
		},
	})
	// Its own waiting does not always end with ctx: over HTTP it waits for the answer to
	// a second request. What ends the link ends it.
	stop := context.AfterFunc(ctx, func() { l.finish(cancelled, nil) })
	p.session, err = client.Connect(ctx, l, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("it was not greeted: %w%s", context.Cause(ctx), l.noise())
		} else if over := l.over(); over != nil && refusal(err) == nil {
			err = over
		}
		l.finish(s.grace, p.session)
		return nil, err
	}
	go func() { // ends with the link
		p.end = p.session.Wait()
		close(p.ended)
	}()
	return p, nil
}

// cancelled is a context that is done.
var cancelled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (p *mcpPeer) changed() <-chan struct{} { return p.news }
func (p *mcpPeer) gone() <-chan struct{}    { return p.ended }

func (p *mcpPeer) reason() error {
	if over := p.link.over(); over != nil {
		return over
	}
	if p.end != nil {
		return p.s.plain(p.end)
	}
	return errors.New("the connection was closed")
}

func (p *mcpPeer) close(ctx context.Context) {
	p.link.finish(ctx, p.session)
	<-p.ended
}

func (p *mcpPeer) list(ctx context.Context) (offer, error) {
	var list []listed
	params := &mcp.ListToolsParams{}
	for range maxPages {
		page, err := p.session.ListTools(ctx, params)
		if err != nil {
			return offer{}, p.explain(ctx, err)
		}
		for _, t := range page.Tools {
			if t == nil {
				continue
			}
			schema, err := json.Marshal(t.InputSchema)
			if err != nil {
				return offer{}, err
			}
			list = append(list, listed{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: schema})
		}
		if page.NextCursor == "" || len(list) > maxTools {
			break
		}
		params.Cursor = page.NextCursor
	}
	return p.s.take(list), nil
}

func (p *mcpPeer) call(ctx context.Context, name string, call tools.Call) (tools.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // of the stream that the answer came by, which a server may keep open
	r, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments(call)})
	if err != nil {
		return tools.Result{}, p.explain(ctx, err)
	}
	return fromMCP(r), nil
}

func arguments(call tools.Call) json.RawMessage {
	if len(call.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return call.Arguments
}

// explain says what an error of the SDK means here.
func (p *mcpPeer) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w%s", context.Cause(ctx), p.link.noise())
	}
	if errors.Is(err, mcp.ErrSessionMissing) || errors.Is(err, mcp.ErrConnectionClosed) {
		// Neither of a session that is missing nor of a connection that was closed before
		// has anything been run.
		timer := time.NewTimer(farewell)
		defer timer.Stop()
		select {
		case <-p.ended:
			return errUnasked
		case <-timer.C: // a server that uses the SDK's own codes
		}
	}
	if e := refusal(err); e != nil {
		return fmt.Errorf("it refuses: %s (code %d)", clip(e.Message, maxSaid), e.Code)
	}
	if over := p.link.over(); over != nil {
		return over
	}
	return p.s.plain(err)
}

// refusal is the error that a server has answered with; nil if there was none.
func refusal(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	// The SDK has errors of its own of the same type.
	if !errors.As(err, &e) || slices.Contains([]int64{codeClientClosing, codeServerClosing, codeRejected}, e.Code) {
		return nil
	}
	return e
}

const (
	codeClientClosing = -32003
	codeServerClosing = -32004
	codeRejected      = -32005
)
