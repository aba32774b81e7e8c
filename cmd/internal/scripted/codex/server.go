package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"codex-bridge.example/bridge/methods"
)

// Version is the played version of Codex: the tested one.
var Version = methods.Measured

// Server is one app-server.
type Server struct {
	wire
	home   string // CODEX_HOME
	ctx    context.Context
	active sync.WaitGroup // running turns

	guarded sync.Mutex
	threads map[string]*thread // loaded threads
}

func main() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("codex-cli " + Version)
		return
	}
	if err := serve(context.Background(), os.Getenv("CODEX_HOME"), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve runs the app-server of a home until the input ends. It returns the error of the output.
func serve(ctx context.Context, home string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &Server{wire: wire{out: out}, home: home, ctx: ctx, threads: make(map[string]*thread)}
	defer s.active.Wait()
	defer cancel()
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			s.handleLine(line)
		}
		switch {
		case errors.Is(err, io.EOF):
			return s.err()
		case err != nil:
			return errors.Join(err, s.err())
		}
	}
}

// handleLine handles one line. It ignores lines that are not messages.
func (s *Server) handleLine(line []byte) {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch {
	case m.Method == "":
		s.handleResponse(m)
	case m.ID != nil:
		if method, ok := requests[m.Method]; ok {
			method(s, m)
			return
		}
		s.respond(m.ID, nil, errorf("Invalid request: unknown variant `%s`", m.Method))
	}
}

// requests has the handlers by method.
var requests map[string]func(*Server, message)

func init() { // avoids an initialization cycle
	requests = map[string]func(*Server, message){
		"initialize":              (*Server).initialize,
		"config/read":             (*Server).configRead,
		"configRequirements/read": func(s *Server, m message) { s.respond(m.ID, object{"requirements": nil}, nil) },
		"hooks/list":              (*Server).hooksList,
		"thread/start":            (*Server).threadStart,
		"thread/resume":           (*Server).threadResume,
		"thread/read":             (*Server).threadRead,
		"thread/loaded/list":      (*Server).threadLoadedList,
		"thread/archive":          (*Server).threadArchive,
		"turn/start":              (*Server).turnStart,
		"turn/steer":              (*Server).turnSteer,
		"turn/interrupt":          (*Server).turnInterrupt,
	}
}

func (s *Server) initialize(m message) {
	s.respond(m.ID, object{
		"userAgent": "scripted/" + Version + " (Linux; x86_64)", "codexHome": s.home, "platformFamily": "unix", "platformOs": "linux",
	}, nil)
}

// configRead returns only a model from the user's file.
func (s *Server) configRead(m message) {
	config := object{"model": model, "model_provider": provider}
	s.respond(m.ID, object{
		"config": config, "origins": object{},
		"layers": []any{object{"name": object{"type": "user", "file": s.home + "/config.toml", "profile": nil}, "version": "1", "config": config}},
	}, nil)
}
