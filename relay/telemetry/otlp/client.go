package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// patience is how long a collector may take for one request.
const patience = 10 * time.Second

// Client sends to one collector.
type Client struct {
	endpoint string // without a final slash
	headers  map[string]string
	http     *http.Client
}

const mostRedirects = 3

var errElsewhere = errors.New("it redirects to another address, or again and again, where it is not followed; name the last one as otel.endpoint or OTEL_EXPORTER_OTLP_ENDPOINT")

// New makes a Client for the address of a collector, to which the paths of the signals are
// added: "http://localhost:4318". It sends nothing.
func New(endpoint string, headers map[string]string) (*Client, error) {
	address, err := url.Parse(endpoint)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("the address of the collector is not one of HTTP; it looks like http://localhost:4318")
	}
	// The headers hold a key, which net/http would take along.
	stay := func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != address.Host || r.URL.Scheme != address.Scheme || len(via) > mostRedirects {
			return errElsewhere
		}
		return nil
	}
	return &Client{strings.TrimSuffix(endpoint, "/"), headers, &http.Client{Timeout: patience, CheckRedirect: stay}}, nil
}

// Headers reads the value of OTEL_EXPORTER_OTLP_HEADERS: "a=b,c=d", each value as in an
// address.
func Headers(text string) map[string]string {
	all := make(map[string]string)
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
			all[name] = plain
		}
	}
	return all
}

// post sends one message of a signal. Its errors never show the address, which may hold a
// password.
func (c *Client) post(ctx context.Context, signal string, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("%s can't be written down: %w", signal, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint+"/v1/"+signal, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s can't be sent to the collector: its address is none", signal)
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if inner, ok := err.(*url.Error); ok { //nolint:errorlint // what Do returns, by its documentation
			err = inner.Err
		}
		return fmt.Errorf("%s can't be sent to the collector: %w", signal, err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection is used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector refuses %s: %s", signal, response.Status)
	}
	return nil
}
