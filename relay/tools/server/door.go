package server

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// door is what all requests to a server go through: it adds the token, bounds what
// comes back, and closes when the link ends.
type door struct {
	next    http.RoundTripper
	life    context.Context
	token   string
	named   bool // the configuration names a token
	address *url.URL
}

// RoundTrip is http.RoundTripper's.
func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(d.life, cancel)
	done := func() { stop(); cancel() }
	r = r.Clone(ctx)
	if d.token != "" && r.URL.Scheme == d.address.Scheme && r.URL.Host == d.address.Host {
		r.Header.Set("Authorization", "Bearer "+d.token)
	}
	// By GET the SDK asks for the stream of the server's own messages. It waits for the
	// answer before it goes on, for ever, and asks again after an error, six times.
	asks := r.Method == http.MethodGet
	var late atomic.Bool
	if asks && r.Header.Get("Last-Event-ID") == "" {
		timer := time.AfterFunc(announcement, func() { late.Store(true); cancel() })
		defer timer.Stop()
	}
	response, err := d.next.RoundTrip(r)
	switch {
	case err != nil && asks && (late.Load() || d.life.Err() != nil):
		done()
		return silent(r), nil
	case err != nil:
		done()
		return nil, err
	case response.StatusCode == http.StatusUnauthorized && !d.named:
		response.Body.Close()
		done()
		return nil, errors.New("it wants a token: name the variable that holds it in bearer_token_env")
	}
	b := &body{from: response.Body, done: done, left: maxMessage}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "text/event-stream" {
		b.left = -1 // the SDK bounds each event
	}
	response.Body = b
	return response, nil
}

// announcement is how long a server may think about the stream of its own messages.
const announcement = 2 * time.Second

// silent is the answer of a server without messages of its own.
func silent(r *http.Request) *http.Response {
	return &http.Response{
		Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r,
	}
}

var errLong = errors.New("it sent a message that is too long")

// body is a response's body.
type body struct {
	from io.ReadCloser
	done func()
	left int // bytes; negative: no end
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left >= 0 {
		if b.left -= n; b.left < 0 {
			b.left = 0
			return 0, errLong
		}
	}
	return n, err
}

func (b *body) Close() error {
	defer b.done()
	return b.from.Close()
}
