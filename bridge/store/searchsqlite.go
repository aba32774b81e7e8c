package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// maxCounted is the number of records from which on a word does not count for the order. The function
// bm25 would read all records of each word: seconds for a word that ten million records have. Tests
// change it.
var maxCounted = 20_000

// sqliteFind finds the newest matches first. It ranks them if they are few.
func sqliteFind(ctx context.Context, s *Store, f SearchOptions, q query, since string) ([]Match, error) {
	match := sqliteMatch(f, q)
	hits, err := s.newestHits(ctx, match, f.Thread, since)
	if err != nil {
		return nil, err
	}
	if len(hits) > 0 && len(hits) < maxRanked {
		if hits, err = s.rank(ctx, q.wanted, hits); err != nil {
			return nil, err
		}
	}
	list, err := json.Marshal(hits[:min(len(hits), f.Limit)])
	if err != nil {
		return nil, err
	}
	return queryAll(ctx, s.read, (*Match).scan, `WITH hit AS MATERIALIZED
			(SELECT key AS place, value ->> 'ID' AS id, value ->> 'Score' AS score FROM json_each($2))
		SELECT `+recordColumns+`, (SELECT snippet(transcript_words, 0, '[', ']', '…', 24) FROM transcript_words
			WHERE transcript_words MATCH $1 AND rowid = id), score
		FROM hit JOIN transcript ON seq = id ORDER BY place`, match, string(list))
}

// sqliteMatch returns a query of the index.
func sqliteMatch(f SearchOptions, q query) string {
	wanted := make([]string, 0, len(q.wanted)+2)
	for _, term := range q.wanted {
		wanted = append(wanted, columnHas("text", term))
	}
	if f.Thread != "" {
		wanted = append(wanted, columnHas("thread", f.Thread))
	}
	if f.Kind != "" {
		wanted = append(wanted, columnHas("kind", string(f.Kind)))
	}
	match := "(" + strings.Join(wanted, " AND ") + ")"
	for _, term := range q.unwanted {
		match += " NOT " + columnHas("text", term)
	}
	return match
}

// columnHas returns a query of the index for the records with a word or phrase in a column.
func columnHas(column, term string) string {
	return column + ` : "` + strings.ReplaceAll(term, `"`, ` `) + `"`
}

// hit is the number of a record that matches, and its score.
type hit struct {
	ID    int64
	Score float64
}

func (h *hit) scan(scan func(...any) error) error { return scan(&h.ID, &h.Score) }

// newestHits returns the newest matches, at most maxRanked.
func (s *Store) newestHits(ctx context.Context, match, thread, since string) ([]hit, error) {
	// The limit on rowid and the + are for speed: min(seq) alone would scan the table. A phrase in
	// the column thread also matches longer ids.
	return queryAll(ctx, s.read, (*hit).scan, fmt.Sprintf(`SELECT rowid, 0.0 FROM transcript_words WHERE transcript_words MATCH $1
		AND rowid >= CASE $2 WHEN '' THEN 0 ELSE coalesce((%s), 9223372036854775807) END
		AND ($2 = '' OR (SELECT time FROM transcript WHERE seq = transcript_words.rowid) >= $2)
		AND ($3 = '' OR (SELECT thread FROM transcript WHERE seq = transcript_words.rowid) = $3)
		ORDER BY rowid DESC LIMIT %d`, s.firstSince(), maxRanked), match, since, thread)
}

// hoursVersion is the schema from which on a table has the first record of each hour.
const hoursVersion = 11

// firstSince returns a query for the lowest number of a record since the time $2. In a state of an
// older schema, opened read-only, it reads the times of all later records.
func (s *Store) firstSince() string {
	const first = `SELECT min(+seq) AS seq FROM transcript WHERE time >= $2`
	if s.version < hoursVersion {
		return first
	}
	return `SELECT min(seq) FROM (` + first + ` AND time < substr($2, 1, 13) || ';'
		UNION ALL SELECT min(first) FROM transcript_hours WHERE hour > substr($2, 1, 13))`
}

// rank returns hits with their scores, the best first. The order stays if all the terms are in many
// records.
func (s *Store) rank(ctx context.Context, terms []string, hits []hit) ([]hit, error) {
	var rare []string
	for _, term := range terms {
		var count int
		err := s.read.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*) FROM
			(SELECT 1 FROM transcript_words WHERE transcript_words MATCH $1 LIMIT %d)`, maxCounted), columnHas("text", term)).Scan(&count)
		if err != nil {
			return nil, err
		}
		if count < maxCounted {
			rare = append(rare, term)
		}
	}
	if len(rare) == 0 {
		return hits, nil
	}
	list, err := json.Marshal(hits)
	if err != nil {
		return nil, err
	}
	return queryAll(ctx, s.read, (*hit).scan, `SELECT rowid, -bm25(transcript_words, 1.0, 0.0, 0.0) AS score
		FROM transcript_words WHERE transcript_words MATCH $1
		AND +rowid IN (SELECT value ->> 'ID' FROM json_each($2)) ORDER BY score DESC, rowid DESC`,
		sqliteMatch(SearchOptions{}, query{wanted: rare}), string(list))
}
