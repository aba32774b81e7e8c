package ask

import (
	"io"
	"time"
)

// TokenName is the name of the file with the tokens, in the socket's folder.
const TokenName = "token"

// PIDSeparator comes before the server's process id at the end of its folder's name.
const PIDSeparator = '-'

// The process tries to connect every dialInterval for dialTimeout: the bridge may be
// starting or busy.
const (
	dialInterval = 25 * time.Millisecond
	dialTimeout  = 250 * time.Millisecond
)

// dialBridge connects to the bridge and reads its tokens.
func (a *Request) dialBridge() (io.ReadWriteCloser, error) {
	for start := time.Now(); ; {
		conn, err := dial(a.Socket)
		if err == nil {
			if a.tokens, err = ReadTokens(dirOf(a.Socket) + TokenName); err == nil {
				return conn, nil
			}
			conn.Close()
			return nil, &Failure{err.Error() + ReopenHint, false}
		}
		if !isTemporary(err) {
			return nil, &Failure{"the bridge's socket can't be used: " + err.Error() + ReopenHint, false}
		}
		if now := time.Now(); now.Sub(start) > dialTimeout || now.Add(dialInterval).After(a.deadline) {
			return nil, &Failure{"no bridge is at " + a.Socket + ": " + err.Error() + "; it has ended, or another one has taken its place" + ReopenHint, true}
		}
		time.Sleep(dialInterval)
	}
}

// Probe returns nil if a server can be reached at socket, or the reason why not.
func Probe(socket string) error {
	conn, err := dial(socket)
	if err != nil {
		return err
	}
	return conn.Close()
}

// dirOf returns the folder of an absolute path, with its trailing separator.
func dirOf(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if isSeparator(path[i]) {
			return path[:i+1]
		}
	}
	return path
}
