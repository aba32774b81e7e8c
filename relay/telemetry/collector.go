package telemetry

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

// requestTimeout is the timeout of one request.
const requestTimeout = 10 * time.Second

// Collector sends traces and metrics of the OpenTelemetry SDK to one collector, as OTLP
// over HTTP in its JSON encoding. A Collector may be used concurrently.
//
// It replaces the SDK's exporter, which links gRPC and protobuf. They cost 2 ms at each
// start of the program, even without telemetry. Data that can't be sent is dropped, and the
// SDK gets the error.
type Collector struct {
	endpoint string // without a final slash
	headers  map[string]string
	http     *http.Client
}

const maxRedirects = 3

var errRedirect = errors.New("it redirects to another host, or too often; set otel.endpoint or OTEL_EXPORTER_OTLP_ENDPOINT to the final address")

// NewCollector returns a Collector for an address such as "http://localhost:4318", without
// a signal's path. It sends nothing.
func NewCollector(endpoint string, headers map[string]string) (*Collector, error) {
	address, err := url.Parse(endpoint)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("the collector's address is not an HTTP URL; use one such as http://localhost:4318")
	}
	// net/http would send the headers, which may have a key, to the new host. Of some redirects it would
	// make a GET without the data.
	stay := func(r *http.Request, via []*http.Request) error {
		if r.Method != http.MethodPost || r.URL.Host != address.Host || r.URL.Scheme != address.Scheme || len(via) > maxRedirects {
			return errRedirect
		}
		return nil
	}
	return &Collector{strings.TrimSuffix(endpoint, "/"), headers, &http.Client{Timeout: requestTimeout, CheckRedirect: stay}}, nil
}

// ParseHeaders parses a value of OTEL_EXPORTER_OTLP_HEADERS: "a=b,c=d", with values escaped
// as in a URL. It omits invalid pairs.
func ParseHeaders(text string) map[string]string {
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

// post sends a message of a signal and returns the response. Its errors never include the address,
// which may have a password.
func (c *Collector) post(ctx context.Context, signal string, message any) ([]byte, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("%s can't be encoded: %w", signal, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint+"/v1/"+signal, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s can't be sent to the collector: its address is invalid", signal)
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if inner, ok := err.(*url.Error); ok { //nolint:errorlint // Do is documented to return a *url.Error
			err = inner.Err
		}
		return nil, fmt.Errorf("%s can't be sent to the collector: %w", signal, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // to the end, so that the connection is reused
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("the collector rejected %s: %s", signal, response.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("the collector's response to %s can't be read: %w", signal, err)
	}
	return text, nil
}
