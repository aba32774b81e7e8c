package search_test

import (
	"strings"
	"testing"

	"codex-bridge/bridge/search"
)

func parse(t testing.TB, text string) search.Query {
	t.Helper()
	q, err := search.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// A sample tells how common a query and its terms are, phrases by their words too, since these have to be looked at.
func TestSample(t *testing.T) {
	s := parse(t, `pump "long line" -cat`).Sample()
	for _, text := range []string{"a pump, a long line", "a pump, a long line, a cat", "pump! line, long", "nothing"} {
		s.Add(text)
	}
	if got, want := s.Fit(), 0.25; got != want {
		t.Errorf("%g fit, want %g", got, want)
	}
	if got, want := s.Places(), (3+3*2)/4.; got != want {
		t.Errorf("%g places, want %g", got, want)
	}
	if got := s.Weights(); len(got) != 2 || got[0] > got[1] || got[1] <= 0 {
		t.Errorf("the weights are %v", got)
	}
	s = parse(t, "rare half all").Sample()
	for i := range 1000 {
		text := "all"
		if i%2 == 0 {
			text += " half"
		}
		s.Add(text)
	}
	if w := s.Weights(); w[0] < 6 || w[1] > 1e-5 || w[1] != w[2] || w[2] <= 0 {
		t.Errorf("the weights are %v", w)
	}
}

// What has more of what is looked for comes before what has less, what is short before what is
// long, and the rarer word counts more.
func TestRank(t *testing.T) {
	const others = " some other words"
	for _, c := range []struct {
		query         string
		weights       []float64
		better, worse string
	}{
		{"pump", []float64{1}, "Pump, pump" + others, "the pump and" + others},
		{"pump", []float64{1}, "the pump", "the pump" + others},
		{"pum*", []float64{1}, "pumps pump" + others, "pumps and" + others},
		{`"long line"`, []float64{1}, "long line, long line", "long line line long"},
		{"pump buffer", []float64{1, 5}, "pump buffer buffer", "pump pump buffer"},
		{"pump buffer", []float64{5, 1}, "pump pump buffer", "pump buffer buffer"},
		{"pump", []float64{1}, "a pump", "nothing"},
	} {
		r := parse(t, c.query).Rank(c.weights)
		r.Add(c.worse)
		r.Add(c.better)
		if got := r.Scores(); len(got) != 2 || got[1] <= got[0] {
			t.Errorf("%s: %q has %v", c.query, []string{c.worse, c.better}, got)
		}
	}
	if got := parse(t, "pump").Rank([]float64{1}).Scores(); len(got) != 0 {
		t.Errorf("of nothing the scores are %v", got)
	}
}

func BenchmarkRank(b *testing.B) {
	q := parse(b, `"fails now" pump`)
	text := "The test of the pump in rpc/pump_test.go fails now and then, as it did in run 765432 of word432. " +
		"Please find out why rare432 is lost, without making the buffer 56 larger."
	for name, text := range map[string]string{"ascii": text, "other": strings.ReplaceAll(text, "e", "é")} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			r := q.Rank([]float64{1, 1})
			for b.Loop() {
				r.Add(text)
			}
		})
	}
}
