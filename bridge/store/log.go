package store

import (
	"os"
	"path/filepath"
	"sync"

	"codex-bridge.example/bridge/statefolder"
)

// maxLog is the size in bytes above which a log starts again.
const maxLog = 1 << 20

// Log is a log in the state folder, of at most maxLog bytes for each process that writes it. It may
// be used concurrently.
type Log struct {
	mu   sync.Mutex
	file *os.File
	size int64
}

// OpenLog opens a log in the state folder to append to it. The caller closes it.
func OpenLog(name string) (*Log, error) {
	folder, err := statefolder.Path()
	if err != nil {
		return nil, err
	}
	if err := statefolder.Ensure(folder); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Log{file: file, size: info.Size()}, nil
}

// Write implements io.Writer. It empties a full log first. It returns no error: what can't be written
// is lost, since the process whose output this is must go on.
func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(text)) > maxLog && l.file.Truncate(0) == nil {
		l.size = 0
	}
	n, _ := l.file.Write(text)
	l.size += int64(n)
	return len(text), nil
}

// Close closes the log.
func (l *Log) Close() { _ = l.file.Close() } // what it wrote is in the file
