package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"codex-bridge.example/bridge/problem"
)

// dialect has the differences between the databases, except how to open them. Both read $1
// as a parameter.
type dialect struct {
	name      string // of the folder with the migrations
	isolation sql.IsolationLevel
	// lock is the first statement of a transaction that writes; empty if BEGIN locks.
	lock string
	// hasTable counts the tables with the name $1.
	hasTable string
	// batch runs statements in a transaction that excludes other writers.
	batch func(context.Context, *Store, []statement) error
	// sum returns an expression for the SHA-256 in hex of a text.
	sum func(text string) string
	// parameter returns the n-th parameter of a statement with hundreds of them; they must be used in ascending
	// order.
	parameter func(n int) string
	// unprepared comes before the arguments of a statement that is not worth preparing.
	unprepared []any
	// find returns the matches of Find; since has the format of the column time.
	find func(ctx context.Context, s *Store, f SearchOptions, q query, since string) ([]Match, error)
	// hint suggests a fix for an error; empty if there is none.
	hint func(error) string
	// secrets must not appear in any text.
	secrets []string
}

// describe returns an error of the database without secrets, on one line, with a suggested fix.
func (d dialect) describe(err error) error {
	var redacted *redactedError
	if err == nil || errors.As(err, &redacted) {
		return err
	}
	text := d.redact(strings.Join(strings.Fields(problem.Text(err)), " "))
	if hint := d.hint(err); hint != "" {
		text += "; " + hint
	}
	return &redactedError{text, err}
}

func (d dialect) redact(text string) string {
	for _, secret := range d.secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// redactedError is an error whose text has no secrets.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }
