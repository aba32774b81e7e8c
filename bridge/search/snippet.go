package search

import (
	"slices"
	"strings"
)

// around is how many words a snippet has.
const around = 24

// Snippet is the part of a text in which most of the query stands, on one line, with what
// was looked for in brackets.
func (q Query) Snippet(text string) string {
	var places []place
	var words []string
	for word, at := range in(text) {
		words, places = append(words, word), append(places, at)
	}
	if len(words) == 0 {
		return ""
	}
	hit := q.hits(words)
	from := best(hit)
	to := min(from+around, len(words))
	var b strings.Builder
	at := 0
	if from > 0 {
		b.WriteString("… ")
		at = places[from].start
	}
	for i := from; i < to; i++ {
		b.WriteString(text[at:places[i].start])
		at = places[i].end
		shown := hit[i] > 0
		for ; i+1 < to && places[i+1] == places[i]; i++ { // a character of several words
			shown = shown || hit[i+1] > 0
		}
		if shown {
			b.WriteString("[" + text[places[i].start:at] + "]")
		} else {
			b.WriteString(text[places[i].start:at])
		}
	}
	if to < len(words) {
		b.WriteString(" …")
	} else {
		b.WriteString(text[at:])
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// hits tells of each word which term it belongs to, from 1; 0: none.
func (q Query) hits(words []string) []int {
	hit := make([]int, len(words))
	for n, t := range q.wanted {
		for i := range words {
			if t.at(words[i:]) {
				for k := range t.words {
					hit[i+k] = n + 1
				}
			}
		}
	}
	return hit
}

func (t term) at(words []string) bool {
	if len(words) < len(t.words) {
		return false
	}
	last := len(t.words) - 1
	if !slices.Equal(words[:last], t.words[:last]) {
		return false
	}
	return words[last] == t.words[last] || t.begin && strings.HasPrefix(words[last], t.words[last])
}

// best is where to begin, so that most terms are seen, and after them most words. A hit
// stands a little behind the beginning.
func best(hit []int) int {
	const before = around / 4
	from, most := 0, -1
	for i, n := range hit {
		if n == 0 {
			continue
		}
		terms := make(map[int]bool)
		count := 0
		for _, m := range hit[i:min(i+around-before, len(hit))] {
			if m > 0 {
				terms[m] = true
				count++
			}
		}
		if value := len(terms)*around + count; value > most {
			from, most = i, value
		}
	}
	return max(0, min(from-before, len(hit)-around))
}
