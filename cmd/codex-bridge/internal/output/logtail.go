package output

import (
	"bytes"
	"os"
	"sync"
)

// LogTail keeps the last 8 KiB of the log of the bridge, for the error of a bridge that exited.
type LogTail struct {
	Stderr bool // whether the log goes to stderr as well
	mu     sync.Mutex
	kept   []byte
}

const maxTail = 8 << 10

// Write implements io.Writer.
func (t *LogTail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if n := len(t.kept) - maxTail; n > 0 {
		t.kept = t.kept[n:]
	}
	if t.Stderr {
		_, _ = os.Stderr.Write(b)
	}
	return len(b), nil
}

func (t *LogTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

// LastLine returns the last line, after a colon; "" for none.
func (t *LogTail) LastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.kept), []byte("\n"))
	if last := string(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}
