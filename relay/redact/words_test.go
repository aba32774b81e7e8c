package redact

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWordSetMatchesTheExpression(t *testing.T) {
	for name, test := range map[string]struct {
		words *wordSet
		expr  string
	}{
		"names": {secretWordSet(), `(?i)authorization|cookie|credential|key|password|passwd|secret|token`},
		"texts": {kindSet(), `(?i)authorization|cookie|credential|key|password|passwd|secret|token|eyJ|bearer|basic|://|` +
			`(?:sk|pk|rk)[-_]|gh|github_|glpat|npm_|xox|AIza|AKIA|ASIA|sess|sid|csrf|xsrf|auth|data:|-----begin`},
	} {
		t.Run(name, func(t *testing.T) {
			expr := regexp.MustCompile(test.expr)
			part := rapid.OneOf(
				rapid.String(), rapid.StringMatching(`[a-zA-Z:/_-]{0,6}`), rapid.StringMatching(test.expr),
				rapid.SampledFrom([]string{"\u017f", "\u212a", "ſecret", "to\u212aen", "Authorizatio", "n", "secre", "t", "\xff", " ", "\U000e012a"}),
			)
			rapid.Check(t, func(t *rapid.T) {
				text := ""
				for range rapid.IntRange(0, 4).Draw(t, "parts") {
					text += part.Draw(t, "part")
				}
				want, got := expr.MatchString(text), test.words.find(text) != 0
				if foreign := regexp.MustCompile("\u017f|\u212a").MatchString(text); got != want && (!got || !foreign) {
					t.Fatalf("%q: %t, want %t", text, got, want)
				}
			})
		})
	}
}

// A regular expression is applied to every text that it matches.
func TestKindsOfSecretsAreFound(t *testing.T) {
	all := slices.Concat(replacements, unquotedReplacements, []replacement{{kind: data, pattern: dataURL}, {kind: assigned | session, pattern: quotedName}})
	for _, one := range all {
		text := rapid.StringMatching(one.pattern().String())
		rapid.Check(t, func(t *rapid.T) {
			secret := text.Draw(t, "secret")
			if kindsIn(secret)&one.kind == 0 {
				t.Fatalf("%q: %b, want %b", secret, kindsIn(secret), one.kind)
			}
			if !strings.Contains(secret, one.needs) {
				t.Fatalf("%q has no %q", secret, one.needs)
			}
		})
	}
}

// To leave out kinds that a text does not have changes nothing, whatever surrounds its secrets.
func TestOtherKindsOfSecretsNeedNotBeTried(t *testing.T) {
	part := rapid.OneOf(
		rapid.String(), rapid.StringMatching(`[a-z._-]{0,3}(token|Key|api_key|password|cookie|authorization)[A-Za-z_.-]{0,3}`),
		rapid.StringMatching(`[\\"' \t\r\n\f:=|>-]{0,4}`), rapid.StringMatching(`eyJ[a-z]{6}\.[a-z]{4}|data:;base64,[A-Z]{4}|Bearer [a-z]{6}|://u:[a-z]{3}@`),
		rapid.SampledFrom([]string{"\u017f", "\u212a", "to\u212aen", "ſecret=value", "to\u212aen: value", "é", "\v", "--", "value"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "")
		if got, want := applyReplacements(text), replaceKinds(text, kindSet().all); got != want {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}

// The expressions for assignments take most of the time.
func TestNamesOfSecretsAloneAreNotTried(t *testing.T) {
	for _, text := range []string{
		"Original token count: 17\nOutput: key", "the token-based key store", "x: the key, y = 1", "one-time token",
	} {
		if kindsIn(text)&assigned != 0 {
			t.Errorf("%q", text)
		}
	}
}
