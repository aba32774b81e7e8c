// Package decision has what the bridge logs and remembers about decisions. The packages that decide fill it in, and
// a log keeps it, such as package store: entries in a chain of hashes, with a queue for a log that is away.
package decision

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Record is a decision about one message, and its reason. The log truncates texts to 4096 bytes and the
// list of fields to 128, and marks the end with "…". It replaces NUL and invalid UTF-8 with U+FFFD. It
// leaves out Facts of more than 64 KiB.
type Record struct {
	Time    time.Time // zero: the time at which it is logged; microsecond precision
	Client  string    // the client's name and version
	Thread  string
	Turn    string
	Method  string
	Verdict string // "rewrite", "deny" …
	Mode    string // policy.mode
	Rule    string // a configuration key, or the name of a rule
	Reason  string
	Origin  string   // the file and line that set the rule
	Fields  []string // that the bridge changed or refused
	Message string   // Sum of the message, not its content; may be empty
	Facts   string   // replay.Facts as JSON; may be empty
	// CanWait marks a decision that holds without its entry, such as a refusal. The log does not keep it.
	CanWait bool
}

// Sum returns the SHA-256 in hex by which the log names a message.
func Sum(message []byte) string {
	sum := sha256.Sum256(message)
	return hex.EncodeToString(sum[:])
}

// Grant is a remembered approval. Digest identifies the approved action; the other texts are for
// people and are truncated like those of a Record.
type Grant struct {
	ID        string    `json:"id"`
	Digest    string    `json:"digest"` // of the approved action and its workspace
	Workspace string    `json:"workspace"`
	Tool      string    `json:"tool"`
	What      string    `json:"what"`
	Client    string    `json:"client"`
	Thread    string    `json:"thread"`
	Created   time.Time `json:"created"` // microsecond precision
	Expires   time.Time `json:"expires"`
}

// ActiveAt reports whether the grant is effective at a time. It is not effective before its
// creation: then the clock was set back, and the end of the grant is unknown.
func (g Grant) ActiveAt(now time.Time) bool {
	return !now.Before(g.Created) && now.Before(g.Expires)
}

// DeskRequest is a request to the approval desk that waits for answers. Text is the request as relay/approvals
// encodes it.
type DeskRequest struct {
	ID      string
	Text    string
	Expires time.Time // microsecond precision
}

// DeskAnswer is an answer to a request. The store does not check the signature.
type DeskAnswer struct{ Decision, Signature string }
