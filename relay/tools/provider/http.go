package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const maxRedirects = 3

// httpTransport is a transport to an MCP server at a URL.
type httpTransport struct {
	*mcp.StreamableClientTransport
	timeout time.Duration
	ctx     context.Context // ends all requests
	cancel  context.CancelFunc
	client  *http.Transport
}

func (s *Server) openHTTP(context.Context) (transport, error) {
	address, err := url.Parse(s.options.Config.URL)
	if err != nil {
		return nil, fmt.Errorf("the url of %s is invalid", s.origin) // the parser's error would show the URL, which may have a password
	}
	token := ""
	if name := s.options.Config.BearerTokenEnv; name != "" {
		token, _ = s.options.LookupEnv(name)
		if token = strings.TrimSpace(token); token == "" {
			return nil, fmt.Errorf("the variable %s, which %s.bearer_token_env names, is not set in the environment of the bridge", name, s.origin)
		}
	}
	l := &httpTransport{timeout: s.options.Grace, client: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout:        90 * time.Second,
		ForceAttemptHTTP2:      true,
	}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.StreamableClientTransport = &mcp.StreamableClientTransport{
		Endpoint:     s.options.Config.URL,
		MaxEventSize: maxMessage,
		HTTPClient: &http.Client{
			Transport: &roundTripper{base: l.client, ctx: l.ctx, token: token, hasToken: s.options.Config.BearerTokenEnv != "", address: address},
			CheckRedirect: func(r *http.Request, via []*http.Request) error {
				if r.URL.Scheme != address.Scheme || r.URL.Host != address.Host {
					return fmt.Errorf("it redirects to %s://%s, which is not followed; set url to that address", r.URL.Scheme, r.URL.Host)
				}
				if len(via) > maxRedirects {
					return fmt.Errorf("it redirects more than %d times", maxRedirects)
				}
				return nil
			},
		},
	}
	return l, nil
}

func (*httpTransport) closeErr() error     { return nil }
func (*httpTransport) skippedNote() string { return "" }

// shutdown ends the session, and closes the connections when ctx is done.
func (l *httpTransport) shutdown(ctx context.Context, session *mcp.ClientSession) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	stop := context.AfterFunc(ctx, l.cancel)
	defer stop()
	if session != nil {
		_ = session.Close() // the session ends either way
	}
	l.cancel()
	l.client.CloseIdleConnections()
}

// withoutSecrets removes the secrets of the URL from an error; net/http's errors show the
// URL.
func (s *Server) withoutSecrets(err error) error {
	address, bad := url.Parse(s.options.Config.URL)
	if err == nil || s.options.Config.URL == "" || bad != nil {
		return err
	}
	cut := []string{"rejected by transport: ", ""}
	if address.RawQuery != "" {
		cut = append(cut, "?"+address.RawQuery, "")
	}
	if u := address.User; u != nil {
		cut = append(cut, u.String()+"@", "", u.Username()+":***@", "") // net/http's spelling
	}
	return &redactedError{strings.NewReplacer(cut...).Replace(err.Error()), err}
}

// redactedError is an error with another text.
type redactedError struct {
	text string
	err  error
}

func (t *redactedError) Error() string { return t.text }
func (t *redactedError) Unwrap() error { return t.err }

// roundTripper sends all requests to a server. It adds the token, limits the responses, and
// ends requests when the connection closes.
type roundTripper struct {
	base     http.RoundTripper
	ctx      context.Context
	token    string
	hasToken bool // the configuration has bearer_token_env
	address  *url.URL
}

// RoundTrip implements http.RoundTripper.
func (d *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(d.ctx, cancel)
	done := func() { stop(); cancel() }
	r = r.Clone(ctx)
	if d.token != "" && r.URL.Scheme == d.address.Scheme && r.URL.Host == d.address.Host {
		r.Header.Set("Authorization", "Bearer "+d.token)
	}
	// With GET the SDK opens the stream of the server's messages. It waits for the response
	// forever, and retries six times after an error.
	asks := r.Method == http.MethodGet
	var late atomic.Bool
	if asks && r.Header.Get("Last-Event-ID") == "" {
		timer := time.AfterFunc(streamTimeout, func() { late.Store(true); cancel() })
		defer timer.Stop()
	}
	response, err := d.base.RoundTrip(r)
	switch {
	case err != nil && asks && (late.Load() || d.ctx.Err() != nil):
		done()
		return methodNotAllowed(r), nil
	case err != nil:
		done()
		return nil, err
	case response.StatusCode == http.StatusUnauthorized && !d.hasToken:
		response.Body.Close()
		done()
		return nil, errors.New("it requires a token; set bearer_token_env to the variable that has it")
	}
	b := &limitedBody{source: response.Body, done: done, left: maxMessage}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "text/event-stream" {
		b.left = -1 // the SDK limits each event
	}
	response.Body = b
	return response, nil
}

// streamTimeout is how long a server may take to open the stream of its messages.
const streamTimeout = 2 * time.Second

// methodNotAllowed is the response of a server without such a stream.
func methodNotAllowed(r *http.Request) *http.Response {
	return &http.Response{
		Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r,
	}
}

var errMessageTooLong = errors.New("it sent a message that is too long")

// limitedBody is a response's body with a limit.
type limitedBody struct {
	source io.ReadCloser
	done   func()
	left   int // bytes; negative: no limit
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.source.Read(p)
	if b.left >= 0 {
		if b.left -= n; b.left < 0 {
			b.left = 0
			return 0, errMessageTooLong
		}
	}
	return n, err
}

func (b *limitedBody) Close() error {
	defer b.done()
	return b.source.Close()
}
