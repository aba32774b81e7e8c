package search

import "math"

// The constants of BM25, as SQLite has them.
const (
	saturation = 1.2
	byLength   = 0.75
	least      = 1e-6 // what a word weighs that stands in half of all texts, or in more
)

// weight is what a term counts that n of all texts have.
func weight(n, all float64) float64 {
	return max(math.Log((all-n+0.5)/(n+0.5)), least)
}

// Ranking tells how well texts fit a query, by BM25.
type Ranking struct {
	reader
	weights []float64
	counts  []float64 // of each term in each text
	lengths []float64 // of the texts, in words
}

// Rank begins a ranking in which each of the query's Parts has a weight.
func (q Query) Rank(weights []float64) *Ranking {
	return &Ranking{reader: reader{query: q}, weights: weights}
}

// Add adds a text.
func (r *Ranking) Add(text string) {
	r.read(text)
	r.lengths = append(r.lengths, float64(len(r.words)))
	for _, t := range r.query.wanted {
		r.counts = append(r.counts, float64(r.count(t)))
	}
}

// Scores are those of the texts, in the order in which they were added: more fits better.
func (r *Ranking) Scores() []float64 {
	all := 0.0
	for _, length := range r.lengths {
		all += length
	}
	average := max(all/float64(len(r.lengths)), 1)
	scores := make([]float64, len(r.lengths))
	for i, length := range r.lengths {
		for k, weight := range r.weights {
			count := r.counts[i*len(r.weights)+k]
			scores[i] += weight * count * (saturation + 1) / (count + saturation*(1-byLength+byLength*length/average))
		}
	}
	return scores
}
