package hook

import (
	"context"
	"crypto/rand"
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

	"codex-bridge/relay/hook/ask"
)

// The times of a server.
const (
	// opening is how long a process may take to say what it asks.
	opening = 10 * time.Second
	// parting is how long Close waits for processes to take their answer.
	parting = time.Second
	// pause is how long it does not take processes when it can't.
	pause = 25 * time.Millisecond
	// reserve is what of a process's time Decide does not get, or a tenth if that is
	// less: so that its reason for giving up arrives.
	reserve = 100 * time.Millisecond
)

// Options are what a Server is made of.
type Options struct {
	// Folder is where servers have their folders, each its own. See DefaultFolder.
	Folder string
	// Decide gives the answer to a call. It is called from many goroutines at once, and
	// has to return soon after its context ends: that is when the process that asks has
	// no more time or is gone, and at Close. From then on only a refusal counts.
	Decide func(context.Context, *Call) Answer
	Log    *slog.Logger // nil: none
}

// Server is where the processes that Codex starts ask.
type Server struct {
	o        Options
	folder   string
	words    ask.Words
	listener net.Listener
	ctx      context.Context // ends with Close
	stop     context.CancelFunc
	owned    sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// Listen makes a folder that nobody but the user can enter, and listens there. Folders
// of servers that are dead are removed.
func Listen(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := ownFolder(o.Folder); err != nil {
		return nil, err
	}
	prune(o.Folder)
	name := strings.ToLower(rand.Text()[:12])
	s := &Server{o: o, folder: filepath.Join(o.Folder, making+name[len(making):]), words: newWords(), conns: map[net.Conn]struct{}{}}
	if err := os.Mkdir(s.folder, 0o700); err != nil {
		return nil, err
	}
	if err := writeWords(s.words, filepath.Join(s.folder, ask.TokenName)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.folder))
	}
	var err error
	if s.listener, err = listen(s.Socket()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.folder))
	}
	made := filepath.Join(o.Folder, name+string(ask.PidSign)+strconv.Itoa(os.Getpid()))
	if err := os.Rename(s.folder, made); err != nil {
		return nil, errors.Join(err, s.listener.Close(), os.RemoveAll(s.folder))
	}
	s.folder = made
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.owned.Go(s.accept)
	return s, nil
}

// Socket is the path of the socket; on Windows, of the file with the address.
func (s *Server) Socket() string { return filepath.Join(s.folder, socketName) }

// Close tells those that ask that there is no answer, and removes the folder. It
// returns when Decide has returned everywhere.
func (s *Server) Close() error {
	s.stop()
	err := s.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	late := time.AfterFunc(parting, s.hangUp)
	s.owned.Wait()
	late.Stop()
	return errors.Join(err, os.RemoveAll(s.folder))
}

func (s *Server) hangUp() {
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
			s.owned.Go(func() { s.serve(conn) })
		case errors.Is(err, net.ErrClosed):
			return
		default: // no more descriptors, say: those that ask have to wait, and some give up
			s.o.Log.Error("a request of a hook can't be accepted", "error", err)
			select {
			case <-time.After(pause):
			case <-s.ctx.Done():
			}
		}
	}
}

// serve answers one process.
func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	if err := ownPeer(conn); err != nil {
		s.o.Log.Warn("a process of another user, or an unknown one, connected to the socket of the hooks", "error", err)
		return
	}
	if err := conn.SetReadDeadline(time.Now().Add(opening)); err != nil {
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
	rpc := jrpc2.NewServer(handler.Map{method: handler.New(s.reply)}, &jrpc2.ServerOptions{
		DisableBuiltin: true,
		Concurrency:    1,
		NewContext:     func() context.Context { return s.ctx },
	})
	_ = rpc.Start(newWire(conn, maxQuestion)).Wait() // a process that is gone needs no answer
}

// reply answers one question.
func (s *Server) reply(ctx context.Context, q *question) (*reply, error) {
	if !same(q.Token, s.words.Ask) {
		s.o.Log.Warn("a hook asked with another bridge's token", "event", q.Event)
		return nil, jrpc2.Errorf(codeRefused, "the token is not that of this bridge")
	}
	if q.Timeout <= 0 {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "a timeout of %d ms leaves no time", q.Timeout)
	}
	call, err := ParseCall(q.Event, q.Payload)
	if err == nil && q.Event.Decides() && call.ToolName == "" {
		err = errNoTool
	}
	if err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%v", err)
	}
	left := time.Duration(q.Timeout) * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, left-min(reserve, left/10))
	defer cancel()
	answer := s.decide(ctx, call)
	switch late := ctx.Err() != nil; {
	case s.ctx.Err() != nil:
		return nil, jrpc2.Errorf(codeClosing, "the bridge ends")
	case late && answer.Decision != Deny && answer.Decision != Block:
		return nil, jrpc2.Errorf(codeLate, "there was no answer in time")
	}
	return &reply{s.words.Answer, &answer}, nil
}

// decide has the call judged. An answer that Codex would not read is none.
func (s *Server) decide(ctx context.Context, call *Call) (answer Answer) {
	defer func() {
		if fault := recover(); fault != nil {
			s.o.Log.Error("a hook's answer was not found", "event", call.Event, "panic", fault)
			answer = Failed(call.Event, "a fault of its own kept it from deciding; its log says more")
		}
	}()
	answer = s.o.Decide(ctx, call)
	if _, err := answer.Output(call.Event); err != nil {
		s.o.Log.Error("a hook's answer can't be given", "event", call.Event, "error", err)
		return Failed(call.Event, fmt.Sprintf("the answer can't be given: %v", err))
	}
	return answer
}
