package store

import (
	"database/sql"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
)

// DB returns the connection that writes, for tests that change the database.
func (s *Store) DB() *sql.DB { return s.write }

// ReadDB returns the connections that read.
func (s *Store) ReadDB() *sql.DB { return s.read }

// AppendStatement returns the statement of Append and its arguments.
func (s *Store) AppendStatement(d decision.Record) (text string, args []any, err error) {
	e, err := decision.NewEntry(d)
	if err != nil {
		return "", nil, err
	}
	one, err := s.appending(e)
	return one.text, one.args, err
}

// ProcessStart is processStart.
var ProcessStart = processStart

// MakeScratchIn is MakeScratch for a state folder, which may be in a temporary folder.
var MakeScratchIn = makeScratch

// TimeLayout is the format of times in the database.
const TimeLayout = timeLayout

// TurnFile is the name of the file of the turns.
const TurnFile = turnFile

// SetTurnTimeout changes how long a writer waits for its turn, until the test ends.
func SetTurnTimeout(t testing.TB, d time.Duration) {
	before := turnTimeout
	turnTimeout = d
	t.Cleanup(func() { turnTimeout = before })
}

// SetMaxCounted changes from how many records on a word does not count for the order, until the test
// ends.
func SetMaxCounted(t testing.TB, n int) {
	before := maxCounted
	maxCounted = n
	t.Cleanup(func() { maxCounted = before })
}

// SetWindow changes how many of the newest records a search of PostgreSQL reads first, until the test
// ends.
func SetWindow(t testing.TB, n int) {
	before := window
	window = n
	t.Cleanup(func() { window = before })
}
