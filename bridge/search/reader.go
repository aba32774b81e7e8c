package search

// reader looks at one text after another.
type reader struct {
	query Query
	words []string // of the text at hand
}

func (r *reader) read(text string) {
	r.words = r.words[:0]
	for word := range in(text) {
		r.words = append(r.words, word)
	}
}

// count is how often a term stands in the text.
func (r *reader) count(t term) int {
	n := 0
	for i := range r.words {
		if t.at(r.words[i:]) {
			n++
		}
	}
	return n
}

// Sample tells from some of all texts how common the words of a query are.
type Sample struct {
	reader
	texts, fit  int
	having      []int // each of the terms
	havingWords []int // all words of it, in whatever order
}

// Sample begins a sample.
func (q Query) Sample() *Sample {
	return &Sample{reader: reader{query: q}, having: make([]int, len(q.wanted)), havingWords: make([]int, len(q.wanted))}
}

// Add adds a text.
func (s *Sample) Add(text string) {
	s.read(text)
	s.texts++
	fits := true
	for i, t := range s.query.wanted {
		switch {
		case s.count(t) > 0:
			s.having[i]++
			s.havingWords[i]++
		case s.loose(t):
			s.havingWords[i]++
			fits = false
		default:
			fits = false
		}
	}
	for _, t := range s.query.unwanted {
		fits = fits && s.count(t) == 0
	}
	if fits {
		s.fit++
	}
}

// loose tells whether all words of a term stand in the text.
func (s *Sample) loose(t term) bool {
	last := len(t.words) - 1
	for i := range t.words {
		if s.count(term{t.words[i : i+1], t.begin && i == last}) == 0 {
			return false
		}
	}
	return true
}

// Fit is the share of all texts that fit the query.
func (s *Sample) Fit() float64 { return float64(s.fit) / float64(max(s.texts, 1)) }

// Places is how often an index has to look to count the texts that have each of the terms,
// for each of all texts.
func (s *Sample) Places() float64 {
	n := 0
	for i, t := range s.query.wanted {
		n += s.havingWords[i] * len(t.words)
	}
	return float64(n) / float64(max(s.texts, 1))
}

// Weights are what each of the terms counts: the rarer, the more. All that are not in the
// sample are equally rare.
func (s *Sample) Weights() []float64 {
	weights := make([]float64, len(s.having))
	for i, n := range s.having {
		weights[i] = weight(float64(n), float64(s.texts))
	}
	return weights
}
