package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"codex-bridge.example/bridge/decision"
)

// timeLayout is the format of times in both databases.
const timeLayout = decision.TimeLayout

// Entry returns the sealed decision as this version knows it.
func (s Sealed) Entry() (decision.Entry, error) {
	e, err := decision.ReadEntry(s.Content)
	if err != nil {
		return decision.Entry{}, fmt.Errorf("decision %d: %w", s.Seq, err)
	}
	e.Hash = s.Hash
	return e, nil
}

// cut returns the content of an entry, cut at the hash of the entry before and at the number, which
// only the transaction that appends the entry knows. No value has the names with bare quotes.
func cut(e decision.Entry) (start, middle, end string, err error) {
	e.Seq, e.Previous = 0, ""
	line, err := e.Content()
	if err != nil {
		return "", "", "", err
	}
	const previous, seq = `"previous":"`, `"seq":`
	start, rest, _ := strings.Cut(string(line), previous)
	middle, end, _ = strings.Cut(rest, seq+"0")
	return start + previous, middle + seq, end, nil
}

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
func (d dialect) appending(e decision.Entry) (statement, error) {
	start, middle, end, err := cut(e)
	if err != nil {
		return statement{}, err
	}
	const seq, previous = `(coalesce(head.seq, 0) + 1)`, `coalesce(head.hash, $17)`
	line := `$14 || ` + previous + ` || $15 || ` + seq + ` || $16`
	return statement{
		`INSERT INTO decisions (` + decisionColumns + `)
		SELECT ` + seq + `, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, ` + previous + `, ` + d.sum(line) + `
		FROM (SELECT 1) AS one LEFT JOIN (SELECT seq, hash FROM decisions ORDER BY seq DESC LIMIT 1) AS head ON 1 = 1`,
		append(values(e), start, middle, end, decision.NoHead.Hash),
	}, nil
}

// values returns the values of decisionColumns, without the place in the chain.
func values(e decision.Entry) []any {
	return []any{
		e.TimeText(), e.Client, e.Thread, e.Turn, e.Method, e.Verdict, e.Mode,
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
	decision.Entry
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
	r.intact = err == nil && r.TimeText() == stamp
	if err := json.Unmarshal([]byte(fields), &r.Fields); err != nil {
		r.Fields = []string{fields}
	}
	r.intact = r.intact && fieldsText(r.Fields) == fields
	return nil
}
