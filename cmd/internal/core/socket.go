package core

import (
	"context"
	"log/slog"
	"sync"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/hook"
)

// HookSocket is the socket that the hook processes connect to. The clients of one Codex share it.
type HookSocket struct {
	folder func() (string, error)
	// Decide answers one run of a hook. It is set before the first call of listen.
	Decide func(context.Context, *hook.Call) hook.Answer
	log    *slog.Logger

	mu     sync.Mutex
	server *hook.Server // nil: no thread has needed it yet
}

// newHookSocket returns the socket of the configuration at the start, whose folder the guard keeps from
// commands.
func newHookSocket(setup settings.Setup, cfg *config.Config, log *slog.Logger) *HookSocket {
	return &HookSocket{folder: sync.OnceValues(func() (string, error) { return setup.SocketFolder(guard.WorldOf(cfg.Codex)) }), log: log}
}

// listen returns the server of the socket, and starts it on the first call.
func (s *HookSocket) listen() (*hook.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return s.server, nil
	}
	folder, err := s.folder()
	if err != nil {
		return nil, err
	}
	s.server, err = hook.Listen(hook.Options{Folder: folder, Decide: s.Decide, Log: s.log})
	return s.server, err
}

// isCommand reports whether a line of Codex may start a hook of the bridge.
func (s *HookSocket) isCommand(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server != nil && s.server.IsCommand(line)
}

// Close closes the socket, if it was opened.
func (s *HookSocket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return nil
	}
	return s.server.Close()
}
