package hook

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"

	"codex-bridge.example/relay/hook/ask"
)

// Timeouts of a server.
const (
	// requestTimeout is the time in which a process must send its request.
	requestTimeout = 10 * time.Second
	// closeGrace is how long Close waits for processes to read their reply.
	closeGrace = time.Second
	// acceptRetryDelay is the pause after a failed accept.
	acceptRetryDelay = 25 * time.Millisecond
	// replyMargin is the part of the process's timeout that Decide does not get, at most a
	// tenth of it, so that the reply still arrives in time.
	replyMargin = 100 * time.Millisecond
)

// Options configure a Server.
type Options struct {
	// Folder contains the servers' folders, one for each. See [DefaultFolder].
	Folder string
	// Decide answers a call. It also gets calls with [Call.Unreadable], to log that. It is
	// called from many goroutines at once and must return soon after its context ends: when the
	// process's time is up, when the process is gone, or at Close. After that only a denial or a
	// block counts.
	Decide func(context.Context, *Call) Answer
	Log    *slog.Logger // nil: no log
}

// Server answers the hook processes that Codex starts.
type Server struct {
	options  Options
	folder   string
	tokens   ask.Tokens
	listener net.Listener
	ctx      context.Context // ends with Close
	stop     context.CancelFunc
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// Listen creates a private folder below o.Folder and listens on a socket in it. It removes
// the folders of servers that have died. The caller must call Close.
func Listen(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{options: o, tokens: newTokens(), conns: map[net.Conn]struct{}{}}
	var err error
	s.listener, s.folder, err = listenIn(o.Folder, func(folder string) error {
		return writeTokens(s.tokens, filepath.Join(folder, ask.TokenName))
	})
	if err != nil {
		return nil, err
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.wg.Go(s.accept)
	return s, nil
}

// listenIn creates a private folder below parent, has fill write files into it, and listens on a
// socket in it. It removes the folders whose listener has died.
func listenIn(parent string, fill func(folder string) error) (l net.Listener, folder string, err error) {
	if err := makePrivateFolder(parent, "remove it, or set CODEX_BRIDGE_STATE to another folder"); err != nil {
		return nil, "", err
	}
	removeStaleFolders(parent)
	name := strings.ToLower(rand.Text()[:12])
	folder = filepath.Join(parent, name+string(ask.PIDSeparator)+strconv.Itoa(os.Getpid()))
	if err := ask.CheckSocketPath(filepath.Join(folder, socketName)); err != nil {
		return nil, "", err // the path while it starts is shorter
	}
	starting := filepath.Join(parent, startingPrefix+name[len(startingPrefix):])
	if err := os.Mkdir(starting, 0o700); err != nil {
		return nil, "", err
	}
	if err := fill(starting); err != nil {
		return nil, "", errors.Join(err, os.RemoveAll(starting))
	}
	if l, err = listen(filepath.Join(starting, socketName)); err != nil {
		return nil, "", errors.Join(err, os.RemoveAll(starting))
	}
	if err := os.Rename(starting, folder); err != nil {
		return nil, "", errors.Join(err, l.Close(), os.RemoveAll(starting))
	}
	return l, folder, nil
}

// Socket returns the path of the socket; on Windows, of the file with the address.
func (s *Server) Socket() string { return filepath.Join(s.folder, socketName) }

// Close answers waiting processes with an error and removes the folder. It returns when
// every call of Decide has returned.
func (s *Server) Close() error {
	s.stop()
	err := s.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	late := time.AfterFunc(closeGrace, s.closeConns)
	s.wg.Wait()
	late.Stop()
	return errors.Join(err, os.RemoveAll(s.folder))
}

func (s *Server) closeConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		conn.Close()
	}
}

// accept serves processes until Close.
func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		switch {
		case err == nil:
			s.wg.Go(func() { s.serve(conn) })
		case errors.Is(err, net.ErrClosed):
			return
		default: // for example no descriptors are free; the processes wait, and some time out
			s.options.Log.Error("hook connection not accepted", "error", err)
			select {
			case <-time.After(acceptRetryDelay):
			case <-s.ctx.Done():
			}
		}
	}
}

// serve answers one process.
func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	if err := checkPeer(conn); err != nil {
		s.options.Log.Warn("connection to the hook socket rejected", "error", err)
		return
	}
	if err := conn.SetReadDeadline(time.Now().Add(requestTimeout)); err != nil {
		return
	}
	s.mu.Lock()
	s.conns[conn] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, conn)
	}()
	rpc := jrpc2.NewServer(handler.Map{askMethod: handler.New(s.handle)}, &jrpc2.ServerOptions{
		DisableBuiltin: true,
		Concurrency:    1,
		NewContext:     func() context.Context { return s.ctx },
	})
	_ = rpc.Start(newLimitedChannel(conn, maxRequest)).Wait() // an error means that the process is gone
}

// handle answers one request.
func (s *Server) handle(ctx context.Context, q *askParams) (*askResult, error) {
	if !equalTokens(q.Token, s.tokens.Request) {
		s.options.Log.Warn("hook request with another bridge's token rejected", "event", q.Event)
		return nil, jrpc2.Errorf(codeRefused, "the token is not that of this bridge")
	}
	if q.Timeout <= 0 {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "timeoutMs must be positive, not %d", q.Timeout)
	}
	left := time.Duration(q.Timeout) * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, left-min(replyMargin, left/10))
	defer cancel()
	call, err := parseInput(q.Event, q.Payload, q.TooLong)
	if err == nil && q.Event.Decides() && call.ToolName == "" {
		err = errNoToolName
	}
	if err != nil {
		if q.Event.Name() != "" {
			s.callDecide(ctx, unreadableCall(q.Event, q.Payload, err))
		}
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%v", err)
	}
	answer, output := s.decide(ctx, call)
	switch late := ctx.Err() != nil; {
	case s.ctx.Err() != nil:
		return nil, jrpc2.Errorf(codeClosing, "the bridge is shutting down")
	case late && answer.Decision != Deny && answer.Decision != Block:
		return nil, jrpc2.Errorf(codeTimeout, "there was no answer in time")
	}
	return &askResult{s.tokens.Reply, base64.StdEncoding.EncodeToString(output)}, nil
}

// decide calls Decide, and returns its answer also as Codex reads it. An answer that Codex would not
// accept becomes a failure answer.
func (s *Server) decide(ctx context.Context, call *Call) (Answer, []byte) {
	answer := s.callDecide(ctx, call)
	output, err := answer.Encode(call.Event)
	if err != nil {
		s.options.Log.Error("hook answer is invalid", "event", call.Event, "error", err)
		answer = FailureAnswer(call.Event, fmt.Sprintf("its answer is invalid: %v", err))
		output = answer.mustEncode(call.Event)
	}
	return answer, output
}

// callDecide calls Decide. A panic becomes a failure answer.
func (s *Server) callDecide(ctx context.Context, call *Call) (answer Answer) {
	defer func() {
		if fault := recover(); fault != nil {
			s.options.Log.Error("hook decision panicked", "event", call.Event, "panic", fault)
			answer = FailureAnswer(call.Event, "an internal error kept it from deciding; see its log")
		}
	}()
	return s.options.Decide(ctx, call)
}
