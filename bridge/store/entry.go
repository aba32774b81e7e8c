package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/gowebpki/jcs"
)

// stampForm is the one form of a time: text sorts as time does, and survives
// both databases exactly.
const stampForm = "2006-01-02T15:04:05.000000Z"

// Entry is a decision in its place in the chain.
type Entry struct {
	Seq int64 // from 1, without a gap
	Decision
	Previous string // the hash of the entry before; of the first, 64 zeros
	Hash     string // SHA-256, in hex, of Line without its hash
}

// record is an entry as JSON.
type record struct {
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
	Previous string   `json:"previous"`
	Hash     string   `json:"hash,omitempty"`
}

// Line is the entry as one line of canonical JSON (RFC 8785), without a line
// end. The same line without its member "hash" is what is hashed.
func (e Entry) Line() ([]byte, error) { return e.canonical(e.Hash) }

// MarshalJSON is Line, so that no two places have forms of their own.
func (e Entry) MarshalJSON() ([]byte, error) { return e.Line() }

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
	text, err := json.Marshal(record{
		e.Seq, e.stamp(), e.Client, e.Thread, e.Turn, e.Method, e.Verdict, e.Mode,
		e.Rule, e.Reason, e.Origin, fields, e.Message, e.Previous, hash,
	})
	if err != nil {
		return nil, err
	}
	return jcs.Transform(text)
}

// follow gives an entry its place after head.
func (e *Entry) follow(head Head) (err error) {
	e.Seq, e.Previous = head.Seq+1, head.Hash
	e.Hash, err = e.sum()
	return err
}

func (e Entry) stamp() string { return e.Time.UTC().Format(stampForm) }

// fieldsText is how fields stand in their column.
func fieldsText(fields []string) string {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // texts always can be marshalled
	}
	return string(text)
}

// columns of a row, in the order in which row.from reads them.
const columns = `seq, time, client, thread, turn, method, verdict, mode, rule, reason, origin, fields, message, previous, hash`

const insert = `INSERT INTO decisions (` + columns + `)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`

// values are those of the columns.
func (e Entry) values() []any {
	return []any{
		e.Seq, e.stamp(), e.Client, e.Thread, e.Turn, e.Method, e.Verdict, e.Mode,
		e.Rule, e.Reason, e.Origin, fieldsText(e.Fields), e.Message, e.Previous, e.Hash,
	}
}

// row is an entry as it was read.
type row struct {
	Entry
	// intact: the texts in the database are those that Append writes. Others may
	// mean the same, so that the hash alone would not tell.
	intact bool
}

func (r *row) from(scan func(...any) error) error {
	var stamp, fields string
	if err := scan(&r.Seq, &stamp, &r.Client, &r.Thread, &r.Turn, &r.Method, &r.Verdict, &r.Mode,
		&r.Rule, &r.Reason, &r.Origin, &fields, &r.Message, &r.Previous, &r.Hash); err != nil {
		return err
	}
	at, err := time.Parse(stampForm, stamp)
	r.Time = at
	r.intact = err == nil && r.stamp() == stamp
	if err := json.Unmarshal([]byte(fields), &r.Fields); err != nil {
		r.Fields = []string{fields}
	}
	r.intact = r.intact && fieldsText(r.Fields) == fields
	return nil
}
