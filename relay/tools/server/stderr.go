package server

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

const (
	maxStderr = 4 << 10 // bytes of stderr that are kept, the last ones
	maxSaid   = 2 << 10 // of what a server said that are shown
	maxLogged = 1 << 10 // of a line in the log
)

// stderr is what a child writes there: its lines go to the log, at debug, and its end
// is kept for when it has died.
type stderr struct {
	log *slog.Logger

	mu   sync.Mutex
	tail []byte
	line []byte
}

func (s *stderr) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail = append(s.tail, p[max(0, len(p)-maxStderr):]...)
	if over := len(s.tail) - maxStderr; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.lines(p)
	}
	return len(p), nil
}

func (s *stderr) lines(p []byte) {
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		s.line = append(s.line, line[:min(len(line), max(0, maxLogged-len(s.line)))]...)
		if !found {
			return
		}
		s.log.Debug("a tool server's stderr", "line", strings.ToValidUTF8(string(s.line), "\uFFFD"))
		s.line, p = s.line[:0], rest
	}
}

// said are the child's last words, ready to follow another text.
func (s *stderr) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(s.tail), "\uFFFD"))
	if text == "" {
		return ""
	}
	if over := len(text) - maxSaid; over > 0 {
		text = "… " + strings.ToValidUTF8(text[over:], "")
	}
	return "; its last words: " + text
}
