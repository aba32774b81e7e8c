package redact

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func TestWordSetMatchesTheExpression(t *testing.T) {
	for name, test := range map[string]struct {
		words *wordSet
		expr  string
	}{
		"names": {secretWordSet(), `(?i)authorization|cookie|credential|key|password|passwd|secret|token`},
		"texts": {hintSet(), `(?i)authorization|cookie|credential|key|password|passwd|secret|token|eyJ|bearer|basic|://|` +
			`(?:sk|pk|rk)[-_]|gh|github_|glpat|npm_|xox|AIza|AKIA|ASIA|sess|sid|csrf|xsrf|auth|data:|-----begin`},
	} {
		t.Run(name, func(t *testing.T) {
			expr := regexp.MustCompile(test.expr)
			part := rapid.OneOf(
				rapid.String(), rapid.StringMatching(`[a-zA-Z:/_-]{0,6}`), rapid.StringMatching(test.expr),
				rapid.SampledFrom([]string{"\u017f", "\u212a", "ſecret", "to\u212aen", "Authorizatio", "n", "secre", "t", "\xff", " "}),
			)
			rapid.Check(t, func(t *rapid.T) {
				text := ""
				for range rapid.IntRange(0, 4).Draw(t, "parts") {
					text += part.Draw(t, "part")
				}
				want, got := expr.MatchString(text), test.words.isIn(text)
				if foreign := regexp.MustCompile("\u017f|\u212a").MatchString(text); got != want && (!got || !foreign) {
					t.Fatalf("%q: %t, want %t", text, got, want)
				}
			})
		})
	}
}
