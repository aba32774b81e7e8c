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

// requestTimeout is how long a collector may take for one request.
const requestTimeout = 10 * time.Second

// Collector sends traces and metrics of the OpenTelemetry SDK to one collector, as OTLP over HTTP in its JSON form.
//
// It replaces the exporter of the SDK, which links gRPC and protobuf: they cost each start of the program 2 ms, also
// without telemetry. What can't be sent is dropped, and the SDK gets the error. Several goroutines may use a Collector.
type Collector struct {
	endpoint string // without a final slash
	headers  map[string]string
	http     *http.Client
}

const maxRedirects = 3

var errElsewhere = errors.New("it redirects to another address, or again and again, where it is not followed; name the last one as otel.endpoint or OTEL_EXPORTER_OTLP_ENDPOINT")

// NewCollector returns a Collector for an address such as "http://localhost:4318", to which the paths of the signals are
// added. It sends nothing.
func NewCollector(endpoint string, headers map[string]string) (*Collector, error) {
	address, err := url.Parse(endpoint)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("the address of the collector is not one of HTTP; it looks like http://localhost:4318")
	}
	// The headers hold a key, which net/http would take along.
	stay := func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != address.Host || r.URL.Scheme != address.Scheme || len(via) > maxRedirects {
			return errElsewhere
		}
		return nil
	}
	return &Collector{strings.TrimSuffix(endpoint, "/"), headers, &http.Client{Timeout: requestTimeout, CheckRedirect: stay}}, nil
}

// ParseHeaders returns the headers in a value of OTEL_EXPORTER_OTLP_HEADERS: "a=b,c=d", with the values escaped as in a
// URL. It leaves out what it can't read.
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

// post sends one message of a signal. Its errors never show the address, which may hold a
// password.
func (c *Collector) post(ctx context.Context, signal string, message any) error {
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
