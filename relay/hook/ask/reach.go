package ask

import (
	"io"
	"time"
)

// TokenName is the file with the words, in the folder of the socket.
const TokenName = "token"

// PidSign stands before the id of the server's process in the name of its folder.
const PidSign = '-'

// A process tries for patience, with a pause between two tries, to reach a bridge that
// is not there: it may be starting, or have too much to do.
const (
	pause    = 25 * time.Millisecond
	patience = 250 * time.Millisecond
)

// reach connects to the bridge, and reads its words.
func (a *Asking) reach() (io.ReadWriteCloser, error) {
	for start := time.Now(); ; {
		conn, err := dial(a.Socket)
		if err == nil {
			if a.words, err = ReadWords(folderOf(a.Socket) + TokenName); err == nil {
				return conn, nil
			}
			conn.Close()
			return nil, &Failure{err.Error() + Reopen, false}
		}
		if !again(err) {
			return nil, &Failure{"the bridge's socket can't be used: " + err.Error() + Reopen, false}
		}
		if now := time.Now(); now.Sub(start) > patience || now.Add(pause).After(a.deadline) {
			return nil, &Failure{"no bridge is at " + a.Socket + ": " + err.Error() + "; it has ended, or another one has taken its place" + Reopen, true}
		}
		time.Sleep(pause)
	}
}

// Probe tells why a server can't be reached, if that is so.
func Probe(socket string) error {
	conn, err := dial(socket)
	if err != nil {
		return err
	}
	return conn.Close()
}

// folderOf is the folder of a path in full, with its last separator.
func folderOf(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if separator(path[i]) {
			return path[:i+1]
		}
	}
	return path
}
