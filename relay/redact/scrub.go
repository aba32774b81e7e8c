package redact

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// placeholder replaces a secret.
const placeholder = "<redacted>"

// secretParts are parts of the names of secrets.
var secretParts = []string{"authorization", "cookie", "credential", "key", "passphrase", "password", "passwd", "secret", "token"}

// secretWordSet matches names of secrets.
var secretWordSet = sync.OnceValue(func() *wordSet { return newWordSet(secretParts...) })

func hasSecretWord(name string) bool { return secretWordSet().isIn(name) }

// expr is a regular expression that is compiled at its first use, because most processes
// never redact.
type expr func() *regexp.Regexp

func newExpr(text string) expr {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var (
	countName    = newExpr(`^(?:tokenUsage|tokens|tokensUsed|tokenBudget|contentTokenCount|[a-z][A-Za-z]*Tokens|[a-z_]*token_limit)$`)
	payloadName  = newExpr(`(?i)image|screenshot|attachment|audio`)
	dataURL      = newExpr(`(?i)data:[a-z0-9.+/;=_-]*;base64,[A-Za-z0-9+/=_%-]*`)
	wholeDataURL = newExpr(`(?i)^data:[^,]{0,200},`)
	base64Only   = newExpr(`^[A-Za-z0-9+/_=-]+$`)
	// In prose, a word such as "token" is no name; only an assignment to it counts.
	assignedTo = `[A-Za-z0-9_.-]*(?:cookie|credential|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|_key|passphrase|password|passwd|secret|token)[A-Za-z0-9_-]*`
	quotedName = newExpr(`(?i)` + assignedTo + `(?:\\*["'])?\s*[:=]\s*\\*["']`)
	flagName   = newExpr(`(?i)^--?` + assignedTo + `$`)
	// JSON in a text may have escaped letters in its names.
	escape = newExpr(`\\u00[2-7][0-9A-Fa-f]`)
)

type replacement struct {
	pattern expr
	with    string
}

// replacements are applied to every text in this order: longer formats first.
var replacements = []replacement{
	{newExpr(`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)`), placeholder},
	{newExpr(`eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`), "<redacted-jwt>"},
	{newExpr(`(?i)(\b(?:set-)?cookie2?\s*:\s*)[^\r\n"'\\]+`), "${1}" + placeholder},
	{newExpr(`(?i)(authorization(?:\\*["'])?\s*[:=]\s*(?:\\*["'])?)[^\r\n"'\\]+`), "${1}" + placeholder},
	{newExpr(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{6,}`), "${1}" + placeholder},
	{newExpr(`((?i:\bbasic\s+))[A-Za-z0-9+/_-]*(?:[0-9=+/]|[a-z][A-Z]|[A-Z]{2})[A-Za-z0-9+/_=-]*`), "${1}" + placeholder},
	{newExpr(`(://)[^\s/:@"']{16,}(?::[^\s/"']*)?@`), "${1}" + placeholder + "@"}, // too long for a user name
	{newExpr(`(?i)(://[^\s/:@"']*:)[^\s/"']+@`), "${1}" + placeholder + "@"},
	{newExpr(`\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`), placeholder},
	{newExpr(`\b(?:gh[a-z]_|github_pat_|glpat-|npm_|xox[a-z]-|xapp-|AIza|hf_|pypi-|dop_v1_|ya29\.|SG\.|AGE-SECRET-KEY-)[A-Za-z0-9_.-]{16,}`), placeholder},
	{newExpr(`\b(?:AKIA|ASIA)[A-Z0-9]{16}`), placeholder},
	{newExpr(`(?i)(` + assignedTo + `\s*:[ \t]*[|>][-+0-9]*[ \t]*\r?\n[ \t]+)[^\r\n]+(?:\r?\n[ \t]+[^\r\n]+)*`), "${1}" + placeholder}, // YAML
}

// unquotedReplacements are applied after quoted values are replaced.
var unquotedReplacements = []replacement{
	{newExpr(`(?i)(` + assignedTo + `(?:\\*["'])?\s*[:=]\s*)[^\s"'<,;&\\][^\s"',;&\\]*`), "${1}" + placeholder},
	{newExpr(`(?i)(--?` + assignedTo + `\s+)[^\s"'<,;&-][^\s"',;&]*`), "${1}" + placeholder},
	{newExpr(`(?i)(\b(?:session|sessionid|sid|csrf|xsrf|auth|jsessionid|phpsessid|sig|signature)=)[^\s"'<,;&\\][^\s"',;&\\]*`), "${1}" + placeholder},
}

// hintSet has a part of every text with a secret. Most texts have none, and skip the
// regular expressions.
var hintSet = sync.OnceValue(func() *wordSet {
	return newWordSet(slices.Concat(secretParts, []string{
		"eyj", "bearer", "basic", "://", "sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "gh", "github_", "glpat", "npm_", "xox", "xapp-", "aiza", "akia", "asia", "hf_", "pypi-", "dop_v1_", "ya29.", "sg.",
		"sess", "sid", "csrf", "xsrf", "auth", "sig=", "signature=", "data:", "-----begin",
	})...)
})

// replaceSecrets replaces texts in the format of a secret, and the data of data URLs.
func replaceSecrets(text string) string {
	if strings.Contains(text, `\u00`) {
		plain := escape().ReplaceAllStringFunc(text, unescapeLetter)
		if clean := applyReplacements(plain); clean != plain {
			return clean
		}
	}
	return applyReplacements(text)
}

func applyReplacements(text string) string {
	if !hintSet().isIn(text) {
		return text
	}
	text = dataURL().ReplaceAllStringFunc(text, func(url string) string {
		return "<redacted data-uri " + strconv.Itoa(strings.IndexByte(url, ',')) + " chars>"
	})
	for _, s := range replacements {
		text = s.pattern().ReplaceAllString(text, s.with)
	}
	text = replaceQuoted(text)
	for _, s := range unquotedReplacements {
		text = s.pattern().ReplaceAllString(text, s.with)
	}
	return text
}

// unescapeLetter returns the letter, digit, "-" or "_" of a JSON escape. Other escapes
// stay.
func unescapeLetter(escape string) string {
	n, err := strconv.ParseUint(escape[len(escape)-2:], 16, 8)
	if c := byte(n); err == nil && (c == '_' || c == '-' || c >= '0' && c <= '9' || lower[c] >= 'a' && lower[c] <= 'z') {
		return string(c)
	}
	return escape
}

// replaceQuoted replaces quoted values that are assigned to the name of a secret.
func replaceQuoted(text string) string {
	var out strings.Builder
	for {
		at := quotedName().FindStringIndex(text)
		if at == nil {
			break
		}
		begin := at[1]
		end := begin + quotedLen(text[begin:], text[begin-1], trailingBackslashes(text[:begin-1]))
		out.WriteString(text[:begin])
		if end > begin {
			out.WriteString(placeholder)
		}
		text = text[end:]
	}
	if out.Len() == 0 {
		return text
	}
	out.WriteString(text)
	return out.String()
}

// maxQuoted is how far the closing quote is searched for.
const maxQuoted = 8192

// quotedLen returns the length of a text up to its closing quote, where quotes are escaped
// with escapes backslashes (in nested JSON). Without a closing quote it returns the length
// of the line.
func quotedLen(text string, quote byte, escapes int) int {
	run := 0
	for i := range min(len(text), maxQuoted) {
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

// trailingBackslashes counts the backslashes at the end of a text.
func trailingBackslashes(text string) int { return len(text) - len(strings.TrimRight(text, `\`)) }
