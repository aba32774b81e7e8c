package provider

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/relay/tools"
)

// initializeVersion is the version of MCP that starts with initialize. It is tried first,
// because some servers exit on any message before initialize, such as the newer version's.
const initializeVersion = "2025-11-25"

// transport is a connection to an MCP server.
type transport interface {
	mcp.Transport
	// closeErr returns why the connection has ended; nil if that is not known.
	closeErr() error
	// skippedNote describes what else the server sent, for errors.
	skippedNote() string
	// shutdown ends the connection, orderly until ctx is done.
	shutdown(ctx context.Context, session *mcp.ClientSession)
}

// mcpPeer is a connected MCP server.
type mcpPeer struct {
	server  *Server
	link    transport
	session *mcp.ClientSession
	changes chan struct{}
	ended   chan struct{}
	endErr  error // set before ended is closed
}

// connectMCP starts a session over a new transport.
func (s *Server) connectMCP(ctx context.Context, open func(context.Context) (transport, error)) (peer, error) {
	p, err := s.connectVersion(ctx, open, initializeVersion)
	if serverError(err) != nil && ctx.Err() == nil {
		if newer, other := s.connectVersion(ctx, open, ""); other == nil {
			return newer, nil
		}
	}
	if err != nil {
		return nil, s.withoutSecrets(err)
	}
	return p, nil
}

func (s *Server) connectVersion(ctx context.Context, open func(context.Context) (transport, error), version string) (*mcpPeer, error) {
	l, err := open(ctx)
	if err != nil {
		return nil, err
	}
	p := &mcpPeer{server: s, link: l, changes: make(chan struct{}, 1), ended: make(chan struct{})}
	client := mcp.NewClient(&mcp.Implementation{Name: "codex-bridge", Version: s.options.Version}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{}, // no roots, no sampling, no elicitation
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case p.changes <- struct{}{}:
			default:
			}
		},
	})
	// Connect does not always return when ctx ends: over HTTP it waits for a second
	// response. Ending the transport ends it.
	stop := context.AfterFunc(ctx, func() { l.shutdown(canceledCtx, nil) })
	p.session, err = client.Connect(ctx, l, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("initialize failed: %w%s", context.Cause(ctx), l.skippedNote())
		} else if over := l.closeErr(); over != nil && serverError(err) == nil {
			err = over
		}
		l.shutdown(s.shutdownCtx, p.session)
		return nil, err
	}
	go func() { // ends with the transport
		p.endErr = p.session.Wait()
		close(p.ended)
	}()
	return p, nil
}

// canceledCtx is a context that is done.
var canceledCtx = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (p *mcpPeer) changed() <-chan struct{} { return p.changes }
func (p *mcpPeer) done() <-chan struct{}    { return p.ended }

func (p *mcpPeer) err() error {
	if over := p.link.closeErr(); over != nil {
		return over
	}
	if p.endErr != nil {
		return p.server.withoutSecrets(p.endErr)
	}
	return errors.New("the connection was closed")
}

func (p *mcpPeer) close(ctx context.Context) {
	p.link.shutdown(ctx, p.session)
	<-p.ended
}

func (p *mcpPeer) list(ctx context.Context) (toolList, error) {
	var list []listedTool
	params := &mcp.ListToolsParams{}
	for range maxPages {
		page, err := p.session.ListTools(ctx, params)
		if err != nil {
			return toolList{}, p.convertError(ctx, err)
		}
		for _, t := range page.Tools {
			if t == nil {
				continue
			}
			schema, err := json.Marshal(t.InputSchema)
			if err != nil {
				return toolList{}, err
			}
			list = append(list, listedTool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: schema})
		}
		if page.NextCursor == "" || len(list) > maxTools {
			break
		}
		params.Cursor = page.NextCursor
	}
	return p.server.newToolList(list), nil
}

func (p *mcpPeer) call(ctx context.Context, name string, call tools.Call) (tools.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the response's stream, which a server may keep open
	r, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: call.Arguments})
	if err != nil {
		return tools.Result{}, p.convertError(ctx, err)
	}
	return convertMCPResult(r), nil
}

// convertError converts an error of the SDK.
func (p *mcpPeer) convertError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w%s", context.Cause(ctx), p.link.skippedNote())
	}
	if errors.Is(err, mcp.ErrSessionMissing) || errors.Is(err, mcp.ErrConnectionClosed) {
		// in both cases the server has not run the call
		timer := time.NewTimer(exitWait)
		defer timer.Stop()
		select {
		case <-p.ended:
			return errNotSent
		case <-timer.C: // a server that uses the SDK's codes
		}
	}
	if e := serverError(err); e != nil {
		return fmt.Errorf("it returned an error: %s (code %d)", display.ClipTo(e.Message, maxShown), e.Code)
	}
	if over := p.link.closeErr(); over != nil {
		return over
	}
	return p.server.withoutSecrets(err)
}

// serverError returns the JSON-RPC error of a server's response, or nil.
func serverError(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	// the SDK's own errors have the same type
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

// convertMCPResult converts an MCP server's result. It describes content that the model
// can't be shown.
func convertMCPResult(r *mcp.CallToolResult) tools.Result {
	result := tools.Result{Failed: r.IsError}
	for _, c := range r.Content {
		result.Content = append(result.Content, convertContent(c))
	}
	if len(result.Content) == 0 && r.StructuredContent != nil {
		if text, err := json.Marshal(r.StructuredContent); err == nil {
			result.Content = []tools.Content{{Text: string(text)}}
		}
	}
	if r.NeedsInput() {
		return tools.Result{Failed: true, Content: []tools.Content{{Text: "The server asks for more input, which the bridge does not support."}}}
	}
	return result
}

func convertContent(c mcp.Content) tools.Content {
	switch c := c.(type) {
	case *mcp.TextContent:
		return tools.Content{Text: c.Text}
	case *mcp.ImageContent:
		return dataURL(c.MIMEType, c.Data)
	case *mcp.AudioContent:
		return tools.Content{Text: fmt.Sprintf("[audio, %s, %d bytes: not shown]", mimeOrDefault(c.MIMEType), len(c.Data))}
	case *mcp.ResourceLink:
		return tools.Content{Text: describeLink(c)}
	case *mcp.EmbeddedResource:
		if c.Resource != nil {
			return convertResource(c.Resource)
		}
	}
	return tools.Content{Text: "[content of an unknown kind: not shown]"}
}

func convertResource(r *mcp.ResourceContents) tools.Content {
	switch {
	case r.Blob == nil:
		return tools.Content{Text: fmt.Sprintf("[resource %s, %s]\n%s", r.URI, mimeOrDefault(r.MIMEType), r.Text)}
	case strings.HasPrefix(r.MIMEType, "image/"):
		return dataURL(r.MIMEType, r.Blob)
	}
	return tools.Content{Text: fmt.Sprintf("[resource %s, %s, %d bytes: not shown]", r.URI, mimeOrDefault(r.MIMEType), len(r.Blob))}
}

func describeLink(l *mcp.ResourceLink) string {
	text := "[link to the resource " + l.URI
	if l.Name != "" {
		text += ", " + l.Name
	}
	if l.MIMEType != "" {
		text += ", " + l.MIMEType
	}
	if l.Size != nil {
		text += fmt.Sprintf(", %d bytes", *l.Size)
	}
	text += "]"
	if l.Description != "" {
		text += " " + l.Description
	}
	return text
}

// dataURL returns an image; the catalogue's package checks it.
func dataURL(mime string, data []byte) tools.Content {
	return tools.Content{Image: "data:" + mimeOrDefault(mime) + ";base64," + base64.StdEncoding.EncodeToString(data)}
}

func mimeOrDefault(mime string) string {
	if mime == "" {
		return "application/octet-stream"
	}
	return mime
}
