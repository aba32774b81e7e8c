package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gowebpki/jcs"

	"codex-bridge.example/bridge/decision"
)

// timeLayout is the format of times: the texts sort by time, and both databases return them
// unchanged.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Entry is a decision at its place in the chain.
type Entry struct {
	Seq int64 // starts at 1, without gaps
	decision.Record
	Previous string // the hash of the entry before; 64 zeros in the first entry
	Hash     string // SHA-256, in hex, of Line without the member "hash"
}

// entryJSON is the JSON form of an Entry.
type entryJSON struct {
	Seq      int64    `json:"seq"`
	Time     string   `json:"time"`
	Client   string   `json:"client"`
	Thread   string   `json:"thread"`
	Turn     string   `json:"turn"`
	Method   string   `json:"method"`
	Verdict  string   `json:"verdict"`
	Mode     string   `json:"mode"`
	Rule     string   `json:"rule"`
	Reason   string   `json:"reason"`
	Origin   string   `json:"origin"`
	Fields   []string `json:"fields"`
	Message  string   `json:"message"`
	Facts    string   `json:"facts,omitempty"` // older entries have none, and their hash covers none
	Previous string   `json:"previous"`
	Hash     string   `json:"hash,omitempty"`
}

// Line returns the entry as one line of canonical JSON (RFC 8785), without a line end. The hash
// covers this line without its member "hash".
func (e Entry) Line() ([]byte, error) { return e.canonical(e.Hash) }

// MarshalJSON returns Line: an entry has one JSON form.
func (e Entry) MarshalJSON() ([]byte, error) { return e.Line() }

// Entry returns the sealed decision as this version knows it.
func (s Sealed) Entry() (Entry, error) {
	var v entryJSON
	err := json.Unmarshal(s.Content, &v)
	var at time.Time
	if err == nil {
		at, err = time.Parse(time.RFC3339Nano, v.Time)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("decision %d: %w", s.Seq, err)
	}
	return Entry{Seq: v.Seq, Previous: v.Previous, Hash: s.Hash, Record: decision.Record{
		Time: at, Client: v.Client, Thread: v.Thread, Turn: v.Turn, Method: v.Method, Verdict: v.Verdict, Mode: v.Mode,
		Rule: v.Rule, Reason: v.Reason, Origin: v.Origin, Fields: v.Fields, Message: v.Message,
	}}, nil
}

func (e Entry) sum() (string, error) {
	line, err := e.canonical("")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:]), nil
}

func (e Entry) canonical(hash string) ([]byte, error) {
	fields := e.Fields
	if fields == nil {
		fields = []string{}
	}
	text, err := json.Marshal(entryJSON{
		e.Seq, e.timeText(), e.Client, e.Thread, e.Turn, e.Method, e.Verdict, e.Mode,
		e.Rule, e.Reason, e.Origin, fields, e.Message, e.Facts, e.Previous, hash,
	})
	if err != nil {
		return nil, err
	}
	return jcs.Transform(text)
}

// cut returns Line without the hash, cut at the hash of the entry before and at the number, which
// only the transaction that appends the entry knows. No value has the names with bare quotes.
func (e Entry) cut() (start, middle, end string, err error) {
	e.Seq, e.Previous = 0, ""
	line, err := e.canonical("")
	if err != nil {
		return "", "", "", err
	}
	const previous, seq = `"previous":"`, `"seq":`
	start, rest, _ := strings.Cut(string(line), previous)
	middle, end, _ = strings.Cut(rest, seq+"0")
	return start + previous, middle + seq, end, nil
}

func (e Entry) timeText() string { return e.Time.UTC().Format(timeLayout) }

// fieldsText returns the text of the column fields.
func fieldsText(fields []string) string {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings can always be marshalled
	}
	return string(text)
}

// decisionColumns are the columns of a row, in the order of row.scan. See Store.columns.
const decisionColumns = `seq, time, client, thread, turn, method, verdict, mode, rule, reason, origin, fields, message, facts, previous, hash`

// appending returns the statement that appends an entry. The database computes its hash, so that
// other writers need not wait for an answer of the bridge.
func (d dialect) appending(e Entry) (statement, error) {
	start, middle, end, err := e.cut()
	if err != nil {
		return statement{}, err
	}
	const seq, previous = `(coalesce(head.seq, 0) + 1)`, `coalesce(head.hash, $17)`
	line := `$14 || ` + previous + ` || $15 || ` + seq + ` || $16`
	return statement{
		`INSERT INTO decisions (` + decisionColumns + `)
		SELECT ` + seq + `, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, ` + previous + `, ` + d.sum(line) + `
		FROM (SELECT 1) AS one LEFT JOIN (SELECT seq, hash FROM decisions ORDER BY seq DESC LIMIT 1) AS head ON 1 = 1`,
		append(e.values(), start, middle, end, zeroHash),
	}, nil
}

// values returns the values of decisionColumns, without the place in the chain.
func (e Entry) values() []any {
	return []any{
		e.timeText(), e.Client, e.Thread, e.Turn, e.Method, e.Verdict, e.Mode,
		e.Rule, e.Reason, e.Origin, fieldsText(e.Fields), e.Message, e.Facts,
	}
}

// factsVersion is the schema from which on decisions have the column facts.
const factsVersion = 9

// columns returns decisionColumns for a query. A state of an older schema, opened read-only, has no facts.
func (s *Store) columns(ctx context.Context) (string, error) {
	if s.version >= factsVersion {
		return decisionColumns, nil
	}
	version, err := s.readVersion(ctx, s.read) // a bridge may have migrated it since
	if err != nil || version >= factsVersion {
		return decisionColumns, err
	}
	return strings.Replace(decisionColumns, "facts", "''", 1), nil
}

// row is an entry read from the database.
type row struct {
	Entry
	// intact reports whether the columns have the exact texts that Append writes. The hash does not
	// cover other spellings of the same value.
	intact bool
}

func (r *row) scan(scan func(...any) error) error {
	var stamp, fields string
	if err := scan(&r.Seq, &stamp, &r.Client, &r.Thread, &r.Turn, &r.Method, &r.Verdict, &r.Mode,
		&r.Rule, &r.Reason, &r.Origin, &fields, &r.Message, &r.Facts, &r.Previous, &r.Hash); err != nil {
		return err
	}
	at, err := time.Parse(timeLayout, stamp)
	r.Time = at
	r.intact = err == nil && r.timeText() == stamp
	if err := json.Unmarshal([]byte(fields), &r.Fields); err != nil {
		r.Fields = []string{fields}
	}
	r.intact = r.intact && fieldsText(r.Fields) == fields
	return nil
}
