package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/bridge/userrules"
)

// AnswerTerms says which remembered answers to a question count.
type AnswerTerms struct {
	// Since is the time from which they count: the last end of an expired rule that asks. Earlier answers were
	// answers to an exception.
	Since time.Time
	// AskedBy identifies the rules that ask, sorted. An answer counts only if the same rules asked when it
	// was given: it does not answer a rule that was added later.
	AskedBy []string
}

// With returns the terms of a question that must meet both.
func (t AnswerTerms) With(other AnswerTerms) AnswerTerms {
	if t.Since.Before(other.Since) {
		t.Since = other.Since
	}
	t.AskedBy = slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.AskedBy, other.AskedBy))))
	return t
}

// Equal reports whether the same answers count.
func (t AnswerTerms) Equal(other AnswerTerms) bool {
	return t.Since.Equal(other.Since) && slices.Equal(t.AskedBy, other.AskedBy)
}

// RuleTerms returns the terms of a question by rules, or by none.
func RuleTerms(m rules.Match, st State) (terms AnswerTerms) {
	if m.Decision != rules.Ask {
		return terms
	}
	for _, r := range m.Asking {
		if ends := r.Ends(); (st.Now == nil || r.IsExpired(st.Now())) && terms.Since.Before(ends) {
			terms.Since = ends
		}
		terms.AskedBy = append(terms.AskedBy, RuleDigest(*r))
	}
	return terms.With(AnswerTerms{})
}

// CodexRuleTerms returns which remembered answers to a question about a command count by the rules for Codex: only those
// that were given while the same ones asked about it. No answer counts if the rules are unknown.
func CodexRuleTerms(line string, own *userrules.Set) (terms AnswerTerms) {
	if own.Err != nil {
		return AnswerTerms{Since: Never}
	}
	for _, r := range own.Restricting(line) {
		terms.AskedBy = append(terms.AskedBy, r.Digest())
	}
	return terms.With(AnswerTerms{})
}

// RuleDigest identifies a rule by its text, and not by its place.
func RuleDigest(r config.Rule) string {
	r.Origin = config.Origin{}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts, a boolean and a number
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
