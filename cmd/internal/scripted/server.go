package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// maxRequests is the number of stored requests. One of Codex has about 40 KiB.
	maxRequests = 256
	// maxBody is the maximum size of a request.
	maxBody = 64 << 20
)

// Server is the model. Create it with Start.
type Server struct {
	http     *http.Server
	url      string
	stop     context.CancelFunc // ends the open responses
	serving  chan struct{}      // closed when Serve has returned
	handlers sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	script   Script
	counters map[string]int
	requests []Request
	arrived  chan struct{} // closed and replaced with each request
}

// Start opens the model on a free port of the loopback interface. With a nil script, Vocabulary
// answers all requests. The error is that of listening.
func Start(script Script) (*Server, error) { return StartAt(0, script) }

// StartAt is Start on a port of the loopback interface.
func StartAt(port int, script Script) (*Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("scripted model: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		url:      "http://" + listener.Addr().String(),
		stop:     stop,
		serving:  make(chan struct{}),
		script:   slices.Clone(script),
		counters: map[string]int{},
		arrived:  make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /v1/responses", s.responses)
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() {
		defer close(s.serving)
		_ = s.http.Serve(listener) // returns when Close closes the listener
	}()
	return s, nil
}

// Close ends the open responses and returns when all goroutines of the server have ended.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true // no new handler starts, so Wait is safe
	s.mu.Unlock()
	s.stop()
	err := s.http.Close()
	<-s.serving
	s.handlers.Wait()
	return err
}

// URL returns the address of the model without /v1: http://127.0.0.1:PORT.
func (s *Server) URL() string { return s.url }

// Add appends steps to the script.
func (s *Server) Add(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, steps...)
}

// Requests returns the last 256 requests for a response, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Await waits for a request for which fits returns true; earlier ones count too.
func (s *Server) Await(ctx context.Context, fits func(Request) bool) (Request, error) {
	for {
		s.mu.Lock()
		arrived := s.arrived
		kept := slices.Clone(s.requests)
		s.mu.Unlock()
		for _, r := range kept {
			if fits(r) {
				return r, nil
			}
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return Request{}, fmt.Errorf("scripted model: no such request: %w", ctx.Err())
		}
	}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"models":[]}`) // Codex may have disconnected
}

// startHandler counts a handler, unless the server is closed.
func (s *Server) startHandler() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.handlers.Add(1)
	}
	return !s.closed
}

func (s *Server) responses(w http.ResponseWriter, r *http.Request) {
	if !s.startHandler() {
		return
	}
	defer s.handlers.Done()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var request Request
	if err := json.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request.Body = body
	out := &stream{ctx: r.Context(), w: w, id: s.newID("resp"), newID: s.newID}
	// After an error Codex has disconnected, or the script wanted the failure.
	_ = out.play(s.reply(request)) // Codex may have disconnected
}

// reply stores the request and chooses the answer.
func (s *Server) reply(r Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == maxRequests {
		s.requests = slices.Delete(s.requests, 0, 1)
	}
	s.requests = append(s.requests, r)
	close(s.arrived)
	s.arrived = make(chan struct{})

	if outputs := r.ToolOutputs(); len(outputs) > 0 {
		if reply, ok := s.script.next(strings.Join(outputs, "\n")); ok {
			return reply
		}
		return Quote(outputs)
	}
	said := r.UserText()
	if reply, ok := s.script.next(said); ok {
		return reply
	}
	return Vocabulary(said)
}

func (s *Server) newID(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters[prefix]++
	return fmt.Sprintf("%s_%d", prefix, s.counters[prefix])
}
