package store

import (
	"database/sql"
	"errors"
	"strings"
)

// dialect is all that differs between the databases, but for how they are
// opened. Both take $1 for a parameter.
type dialect struct {
	name      string // of the folder with its migrations
	isolation sql.IsolationLevel
	// lock is run first in a transaction that writes; empty where its beginning
	// is the lock.
	lock string
	// hasTable counts the tables named $1.
	hasTable string
	// keepRecord adds a record to a transcript.
	keepRecord string
	// search returns the statements for a query, and their arguments; since is as in the table.
	search func(f Search, q query, since string) (count string, find func(ranked bool) string, args []any)
	// mend is what a person does about an error; empty where that is not known.
	mend func(error) string
	// secrets are never shown.
	secrets []string
}

// failed is an error of the database without its secrets, on one line, with the mend.
func (d dialect) failed(err error) error {
	var told *hiddenError
	if err == nil || errors.As(err, &told) {
		return err
	}
	text := d.hide(strings.Join(strings.Fields(err.Error()), " "))
	if mend := d.mend(err); mend != "" {
		text += "; " + mend
	}
	return &hiddenError{text, err}
}

func (d dialect) hide(text string) string {
	for _, secret := range d.secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// hiddenError is another error, told without a secret.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }
