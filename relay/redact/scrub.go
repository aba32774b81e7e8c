package redact

import (
	"slices"
	"strings"
	"sync"
)

// gone stands in the place of a secret.
const gone = "<redacted>"

// inSecrets is what the name of a secret has in it.
var inSecrets = []string{"authorization", "cookie", "credential", "key", "password", "passwd", "secret", "token"}

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
	assignedTo = `[A-Za-z0-9_.-]*(?:cookie|credential|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|_key|password|passwd|secret|token)[A-Za-z0-9_-]*`
)

// shapes are looked for in every text, in this order: what is longer comes first.
var shapes = []struct {
	pattern *expr
	instead string
}{
	{newExpr(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), gone},
	{newExpr(`eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`), "<redacted-jwt>"},
	{newExpr(`(?i)(\b(?:set-)?cookie2?\s*:\s*)[^\r\n"'\\]+`), "${1}" + gone},
	{newExpr(`(?i)(authorization(?:\\*["'])?\s*[:=]\s*(?:\\*["'])?)[^\r\n"'\\]+`), "${1}" + gone},
	{newExpr(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{6,}`), "${1}" + gone},
	{newExpr(`((?i:\bbasic\s+))[A-Za-z0-9+/_-]*(?:[0-9=+/]|[a-z][A-Z]|[A-Z]{2})[A-Za-z0-9+/_=-]*`), "${1}" + gone},
	{newExpr(`(?i)(://[^\s/:@"']*:)[^\s/@"']+@`), "${1}" + gone + "@"},
	{newExpr(`\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`), gone},
	{newExpr(`\b(?:gh[a-z]_|github_pat_|glpat-|npm_|xox[a-z]-|AIza)[A-Za-z0-9_-]{16,}`), gone},
	{newExpr(`\b(?:AKIA|ASIA)[A-Z0-9]{16}`), gone},
	{newExpr(`(?i)(` + assignedTo + `(?:\\*["'])?\s*[:=]\s*\\*")[^"\r\n]+`), "${1}" + gone},
	{newExpr(`(?i)(` + assignedTo + `(?:\\*["'])?\s*[:=]\s*\\*')[^'\r\n]+`), "${1}" + gone},
	{newExpr(`(?i)(` + assignedTo + `(?:\\*["'])?\s*[:=]\s*)[^\s"'<,;&\\][^\s"',;&\\]*`), "${1}" + gone},
	{newExpr(`(?i)(--?` + assignedTo + `\s+)[^\s"'<,;&-][^\s"',;&]*`), "${1}" + gone},
	{newExpr(`(?i)(\b(?:session|sessionid|sid|csrf|xsrf|auth|jsessionid|phpsessid)=)[^\s"'<,;&\\][^\s"',;&\\]*`), "${1}" + gone},
}

// hints are parts that a text with a secret has: most texts have none of them, and no
// pattern is tried on those.
var hints = sync.OnceValue(func() *words {
	return newWords(slices.Concat(inSecrets, []string{
		"eyj", "bearer", "basic", "://", "sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "gh", "github_", "glpat", "npm_", "xox", "aiza", "akia", "asia",
		"sess", "sid", "csrf", "xsrf", "auth", "data:", "-----begin",
	})...)
})

// scrub takes out of a text what has the shape of a secret, and what data URLs carry.
func scrub(text string) string {
	if !hints().in(text) {
		return text
	}
	text = dataURL.ReplaceAllStringFunc(text, func(url string) string {
		return "<redacted data-uri " + itoa(strings.IndexByte(url, ',')) + " chars>"
	})
	for _, s := range shapes {
		text = s.pattern.ReplaceAllString(text, s.instead)
	}
	return text
}
