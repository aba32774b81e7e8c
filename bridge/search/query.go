package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// mostTerms bounds what one query asks for.
const mostTerms = 32

// ErrNothing is a query without a word to look for.
var ErrNothing = errors.New(`there is no word to look for; write words, "a phrase", the beginning of a word with * behind it, and - before what is not to be there`)

// Query is what a person asks for: all of its terms, and none of those with a minus.
type Query struct {
	wanted, unwanted []term
}

// term is a word, or several in a row.
type term struct {
	words []string
	begin bool // of the last one only the beginning
}

// Parse reads a query. Every text is one, unless it has no word, or too many.
func Parse(text string) (Query, error) {
	var q Query
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		minus := false
		if rest, ok := strings.CutPrefix(text, "-"); ok {
			minus, text = true, rest
		}
		var part string
		if rest, ok := strings.CutPrefix(text, `"`); ok {
			part, text, _ = strings.Cut(rest, `"`)
		} else if end := strings.IndexAny(text, " \t\r\n\""); end >= 0 {
			part, text = text[:end], text[end:]
		} else {
			part, text = text, ""
		}
		t := term{words: strings.Fields(Words(part)), begin: strings.HasSuffix(part, "*")}
		if rest, ok := strings.CutPrefix(text, "*"); ok && !t.begin {
			t.begin, text = true, rest
		}
		switch {
		case len(t.words) == 0:
		case minus:
			q.unwanted = append(q.unwanted, t)
		default:
			q.wanted = append(q.wanted, t)
		}
	}
	if len(q.wanted) == 0 {
		return Query{}, ErrNothing
	}
	if n := len(q.wanted) + len(q.unwanted); n > mostTerms {
		return Query{}, fmt.Errorf("the query has %d terms, and %d are the most", n, mostTerms)
	}
	return q, nil
}

// FTS5 is the query in the language of SQLite's full-text search, for the column words.
// Each of the facets has to be a word of the column facets.
func (q Query) FTS5(facets ...string) string {
	var b strings.Builder
	write := func(t term) {
		b.WriteString(`"` + strings.Join(t.words, " ") + `"`)
		if t.begin {
			b.WriteString("*")
		}
	}
	b.WriteString("(words : (")
	for i, t := range q.wanted {
		if i > 0 {
			b.WriteString(" AND ")
		}
		write(t)
	}
	b.WriteString(")")
	for _, facet := range facets {
		b.WriteString(` AND facets : "` + facet + `"`)
	}
	b.WriteString(")")
	for _, t := range q.unwanted {
		b.WriteString(" NOT words : ")
		write(t)
	}
	return b.String()
}

// TSQuery is the query as a tsquery of PostgreSQL.
func (q Query) TSQuery() string {
	var parts []string
	for _, t := range q.wanted {
		parts = append(parts, t.tsquery())
	}
	for _, t := range q.unwanted {
		parts = append(parts, "!"+t.tsquery())
	}
	return strings.Join(parts, " & ")
}

func (t term) tsquery() string {
	quoted := make([]string, len(t.words))
	for i, word := range t.words {
		quoted[i] = "'" + word + "'" // a word is letters and digits
	}
	if t.begin {
		quoted[len(quoted)-1] += ":*"
	}
	return "(" + strings.Join(quoted, " <-> ") + ")"
}

// Vector are the words of a text as a tsvector of PostgreSQL, which keeps 256 places of a
// word, and counts no further than 16,383.
func Vector(text string) string {
	const mostPlaces, farthest = 256, 16_383
	var order []string
	places := make(map[string]int)
	var vectors = make(map[string]*strings.Builder)
	n := 0
	for word := range in(text) {
		n++
		b := vectors[word]
		if b == nil {
			b = new(strings.Builder)
			vectors[word] = b
			order = append(order, word)
		}
		if places[word] == mostPlaces {
			continue
		}
		sep := ","
		if places[word] == 0 {
			sep = ":"
		}
		places[word]++
		fmt.Fprintf(b, "%s%d", sep, min(n, farthest))
	}
	slices.Sort(order)
	var b strings.Builder
	for _, word := range order {
		b.WriteString("'" + word + "'" + vectors[word].String() + " ")
	}
	return strings.TrimSuffix(b.String(), " ")
}
