package redact

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// gone stands in the place of a secret.
const gone = "<redacted>"

// inSecrets is what the name of a secret has in it.
var inSecrets = []string{"authorization", "cookie", "credential", "key", "passphrase", "password", "passwd", "secret", "token"}

// secretWords are found in the name of a secret.
var secretWords = sync.OnceValue(func() *words { return newWords(inSecrets...) })

func secretName(name string) bool { return secretWords().in(name) }

var (
	countName   = newExpr(`^(?:tokenUsage|tokens|tokensUsed|tokenBudget|contentTokenCount|[a-z][A-Za-z]*Tokens|[a-z_]*token_limit)$`)
	payloadName = newExpr(`(?i)image|screenshot|attachment|audio`)
	dataURL     = newExpr(`(?i)data:[a-z0-9.+/;=_-]*;base64,[A-Za-z0-9+/=_%-]*`)
	wholeData   = newExpr(`(?i)^data:[^,]{0,200},`)
	encoded     = newExpr(`^[A-Za-z0-9+/_=-]+$`)
	// A word that only hints at a secret in prose names none: what is assigned to it is.
	assignedTo = `[A-Za-z0-9_.-]*(?:cookie|credential|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|_key|passphrase|password|passwd|secret|token)[A-Za-z0-9_-]*`
	quotedName = newExpr(`(?i)` + assignedTo + `(?:\\*["'])?\s*[:=]\s*\\*["']`)
	flagName   = newExpr(`(?i)^--?` + assignedTo + `$`)
	// JSON in a text may have letters of its names escaped.
	escape = newExpr(`\\u00[2-7][0-9A-Fa-f]`)
)

type shape struct {
	pattern *expr
	instead string
}

// shapes are looked for in every text, in this order: what is longer comes first.
var shapes = []shape{
	{newExpr(`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)`), gone},
	{newExpr(`eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`), "<redacted-jwt>"},
	{newExpr(`(?i)(\b(?:set-)?cookie2?\s*:\s*)[^\r\n"'\\]+`), "${1}" + gone},
	{newExpr(`(?i)(authorization(?:\\*["'])?\s*[:=]\s*(?:\\*["'])?)[^\r\n"'\\]+`), "${1}" + gone},
	{newExpr(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{6,}`), "${1}" + gone},
	{newExpr(`((?i:\bbasic\s+))[A-Za-z0-9+/_-]*(?:[0-9=+/]|[a-z][A-Z]|[A-Z]{2})[A-Za-z0-9+/_=-]*`), "${1}" + gone},
	{newExpr(`(://)[^\s/:@"']{16,}(?::[^\s/"']*)?@`), "${1}" + gone + "@"}, // too long for a name
	{newExpr(`(?i)(://[^\s/:@"']*:)[^\s/"']+@`), "${1}" + gone + "@"},
	{newExpr(`\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`), gone},
	{newExpr(`\b(?:gh[a-z]_|github_pat_|glpat-|npm_|xox[a-z]-|xapp-|AIza|hf_|pypi-|dop_v1_|ya29\.|SG\.|AGE-SECRET-KEY-)[A-Za-z0-9_.-]{16,}`), gone},
	{newExpr(`\b(?:AKIA|ASIA)[A-Z0-9]{16}`), gone},
	{newExpr(`(?i)(` + assignedTo + `\s*:[ \t]*[|>][-+0-9]*[ \t]*\r?\n[ \t]+)[^\r\n]+(?:\r?\n[ \t]+[^\r\n]+)*`), "${1}" + gone}, // of YAML
}

// unquoted are looked for when what stands in quotes is gone.
var unquoted = []shape{
	{newExpr(`(?i)(` + assignedTo + `(?:\\*["'])?\s*[:=]\s*)[^\s"'<,;&\\][^\s"',;&\\]*`), "${1}" + gone},
	{newExpr(`(?i)(--?` + assignedTo + `\s+)[^\s"'<,;&-][^\s"',;&]*`), "${1}" + gone},
	{newExpr(`(?i)(\b(?:session|sessionid|sid|csrf|xsrf|auth|jsessionid|phpsessid|sig|signature)=)[^\s"'<,;&\\][^\s"',;&\\]*`), "${1}" + gone},
}

// hints are parts that a text with a secret has: most texts have none of them, and no
// pattern is tried on those.
var hints = sync.OnceValue(func() *words {
	return newWords(slices.Concat(inSecrets, []string{
		"eyj", "bearer", "basic", "://", "sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "gh", "github_", "glpat", "npm_", "xox", "xapp-", "aiza", "akia", "asia", "hf_", "pypi-", "dop_v1_", "ya29.", "sg.",
		"sess", "sid", "csrf", "xsrf", "auth", "sig=", "signature=", "data:", "-----begin",
	})...)
})

// scrub takes out of a text what has the shape of a secret, and what data URLs carry.
func scrub(text string) string {
	if strings.Contains(text, `\u00`) {
		plain := escape.ReplaceAllStringFunc(text, unescaped)
		if clean := shaped(plain); clean != plain {
			return clean
		}
	}
	return shaped(text)
}

func shaped(text string) string {
	if !hints().in(text) {
		return text
	}
	text = dataURL.ReplaceAllStringFunc(text, func(url string) string {
		return "<redacted data-uri " + itoa(strings.IndexByte(url, ',')) + " chars>"
	})
	for _, s := range shapes {
		text = s.pattern.ReplaceAllString(text, s.instead)
	}
	text = scrubQuoted(text)
	for _, s := range unquoted {
		text = s.pattern.ReplaceAllString(text, s.instead)
	}
	return text
}

// unescaped is a letter of JSON that is written as its number. What could end a text stays.
func unescaped(escape string) string {
	n, err := strconv.ParseUint(escape[len(escape)-2:], 16, 8)
	if c := byte(n); err == nil && (c == '_' || c == '-' || c >= '0' && c <= '9' || lower[c] >= 'a' && lower[c] <= 'z') {
		return string(c)
	}
	return escape
}

// scrubQuoted takes out what is assigned to the name of a secret in quotes.
func scrubQuoted(text string) string {
	var out strings.Builder
	for {
		at := quotedName.FindStringIndex(text)
		if at == nil {
			break
		}
		begin := at[1]
		end := begin + quoted(text[begin:], text[begin-1], backslashes(text[:begin-1]))
		out.WriteString(text[:begin])
		if end > begin {
			out.WriteString(gone)
		}
		text = text[end:]
	}
	if out.Len() == 0 {
		return text
	}
	out.WriteString(text)
	return out.String()
}

// longestQuoted is how far away the end of a text in quotes is looked for.
const longestQuoted = 8192

// quoted is how long a text is that stands in quotes, which begin with so many backslashes:
// those of JSON in a text of JSON do. Where they have no end, the text has that of its line.
func quoted(text string, quote byte, escapes int) int {
	run := 0
	for i := range min(len(text), longestQuoted) {
		switch {
		case text[i] == '\\':
			run++
			continue
		case text[i] == quote && run%(2*escapes+2) == escapes:
			return i - escapes
		}
		run = 0
	}
	if end := strings.IndexAny(text, "\r\n"); end >= 0 {
		return end
	}
	return len(text)
}

// backslashes is how many a text ends in.
func backslashes(text string) int { return len(text) - len(strings.TrimRight(text, `\`)) }
