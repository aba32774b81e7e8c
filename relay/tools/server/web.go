package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const maxRedirects = 3

// web is an MCP server at an address.
type web struct {
	*mcp.StreamableClientTransport
	grace  time.Duration
	life   context.Context // of all requests
	end    context.CancelFunc
	client *http.Transport
}

func (s *Server) openWeb(context.Context) (link, error) {
	address, err := url.Parse(s.o.Config.URL)
	if err != nil {
		return nil, fmt.Errorf("the address of %s can't be read", s.origin) // the error would show it, and it may hold a password
	}
	token := ""
	if name := s.o.Config.BearerTokenEnv; name != "" {
		token, _ = s.o.Lookup(name)
		if token = strings.TrimSpace(token); token == "" {
			return nil, fmt.Errorf("the variable %s, which %s.bearer_token_env names, is not set in the environment of the bridge", name, s.origin)
		}
	}
	l := &web{grace: s.o.Grace, client: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout:        90 * time.Second,
		ForceAttemptHTTP2:      true,
	}}
	l.life, l.end = context.WithCancel(context.Background())
	l.StreamableClientTransport = &mcp.StreamableClientTransport{
		Endpoint:     s.o.Config.URL,
		MaxEventSize: maxMessage,
		HTTPClient: &http.Client{
			Transport: &door{next: l.client, life: l.life, token: token, named: s.o.Config.BearerTokenEnv != "", address: address},
			CheckRedirect: func(r *http.Request, via []*http.Request) error {
				if r.URL.Scheme != address.Scheme || r.URL.Host != address.Host {
					return fmt.Errorf("it is redirected to %s://%s, where it is not followed: name that address in the configuration", r.URL.Scheme, r.URL.Host)
				}
				if len(via) > maxRedirects {
					return fmt.Errorf("it is redirected more than %d times", maxRedirects)
				}
				return nil
			},
		},
	}
	return l, nil
}

func (*web) over() error   { return nil }
func (*web) noise() string { return "" }

// finish says good-bye, and breaks off when ctx is done.
func (l *web) finish(ctx context.Context, session *mcp.ClientSession) {
	ctx, cancel := context.WithTimeout(ctx, l.grace)
	defer cancel()
	stop := context.AfterFunc(ctx, l.end)
	defer stop()
	if session != nil {
		_ = session.Close() // whether the server has heard it makes no difference
	}
	l.end()
	l.client.CloseIdleConnections()
}

// plain is an error without what may be secret in the address, which the errors of
// net/http show.
func (s *Server) plain(err error) error {
	address, bad := url.Parse(s.o.Config.URL)
	if err == nil || s.o.Config.URL == "" || bad != nil {
		return err
	}
	cut := []string{"rejected by transport: ", ""}
	if address.RawQuery != "" {
		cut = append(cut, "?"+address.RawQuery, "")
	}
	if u := address.User; u != nil {
		cut = append(cut, u.String()+"@", "", u.Username()+":***@", "") // the second is how net/http writes it
	}
	return &told{strings.NewReplacer(cut...).Replace(err.Error()), err}
}

// told is an error in other words.
type told struct {
	text string
	err  error
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.err }
