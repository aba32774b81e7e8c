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
var secretWordSet = sync.OnceValue(func() *wordSet {
	w := new(wordSet)
	w.add(assigned, secretParts...)
	return w
})

// secretEndings are short words, which name a secret only at the end: PWD is a folder, and a test has passed.
var secretEndings = []string{"_auth", "_pass", "_pwd"}

// hasSecretWord reports whether a name says that its value is a secret.
func hasSecretWord(name string) bool {
	return secretWordSet().find(name) != 0 ||
		slices.ContainsFunc(secretEndings, func(end string) bool {
			return len(name) >= len(end) && strings.EqualFold(name[len(name)-len(end):], end)
		})
}

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
	assignedTo = `[A-Za-z0-9_.-]*(?:(?:cookie|credential|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|_key|passphrase|password|passwd|secret|token)[A-Za-z0-9_-]*` +
		`|_(?:auth|pass|pwd)\b)`
	// Names that count only directly before an equals sign.
	sessionName = `\b(?:session|sessionid|sid|csrf|xsrf|auth|jsessionid|phpsessid|sig|signature|(?-i:PASS))=`
	// A name, and the quote before its value: after a colon or an equals sign, or as that of a flag.
	quotedName = newExpr(`(?i)(?:` + assignedTo + `(?:\\*["'])?\s*[:=]\s*[$(]*|--?` + assignedTo + `\s+\$?|` + sessionName + `\$?)\\*["']`)
	// A word of a shell, which may start with a quoted part, also where a text escapes the quotes.
	shellWord = `(?:\\*'[^']*'|\\*"[^"]*"|[^\s;&|<>)"'])[^\s;&|<>)]*`
	// The start of a value without quotes: a command whose output it is, or a character.
	valueStart = `(?:\$\([^()\r\n]*\)|[^\s"'<,;&\\])`
	// The arguments of a program, over continued lines, up to one of them.
	argumentsOf = `\b(?:[^\r\n;|&]|&[^&]|\\\r?\n)*?\s["']?`
	flagName    = newExpr(`(?i)^--?` + assignedTo + `$`)
	// JSON in a text may have escaped letters in its names.
	escape = newExpr(`\\u00[2-7][0-9A-Fa-f]`)
)

// kinds is a set of the kinds of secrets that a text may have. A regular expression is slow, so each
// is applied only to the texts that have a word of its kind.
type kinds uint16

const (
	keyBlock kinds = 1 << iota
	jwt
	cookieHeader
	authHeader
	bearer
	basic
	userOfURL
	prefixedKey
	vendorToken
	cloudKey
	assigned // to the name of a secret
	session
	argument // of a program that takes a password
	netrc
	data
)

// kindWords has the words of each kind, in lower case.
var kindWords = map[kinds][]string{
	keyBlock: {"-----begin"}, jwt: {"eyj"}, cookieHeader: {"cookie"}, authHeader: {"authorization"},
	bearer: {"bearer"}, basic: {"basic"}, userOfURL: {"://"}, cloudKey: {"akia", "asia"}, data: {"data:"},
	prefixedKey: {"sk-", "sk_", "pk-", "pk_", "rk-", "rk_"},
	vendorToken: {"gh", "github_", "glpat", "npm_", "xox", "xapp-", "aiza", "hf_", "pypi-", "dop_v1_", "ya29.", "sg.", "age-secret"},
	assigned:    {"cookie", "credential", "key", "passphrase", "password", "passwd", "secret", "token", "_auth", "_pass", "_pwd"},
	session:     {"sess", "sid", "csrf", "xsrf", "auth", "sig=", "signature=", "pass="},
	argument:    {"curl", "mysql", "mariadb", "sshpass", "redis-cli", "login"},
	netrc:       {"machine", "default"},
}

var kindSet = sync.OnceValue(func() *wordSet {
	w := new(wordSet)
	for kind, words := range kindWords {
		w.add(kind, words...)
	}
	return w
})

// kindsIn returns the kinds of secrets that a text may have.
func kindsIn(text string) kinds {
	found := kindSet().find(text)
	mayFold := found == kindSet().all // a letter to an ASCII letter: see wordSet.find
	if found&assigned != 0 && !mayFold && !hasAssignment(text) {
		found &^= assigned // the name of a member, or prose
	}
	return found
}

// hasAssignment reports whether a name of a secret is followed by a colon or an equals sign, or is a flag with a
// value. It may also return true for other texts. The text must not have U+017F or U+212A, which fold to ASCII.
func hasAssignment(text string) bool {
	for i := 0; i < len(text); {
		if !isNameByte[text[i]] {
			i++
			continue
		}
		begin := i
		for i < len(text) && isNameByte[text[i]] {
			i++
		}
		name := text[begin:i]
		rest := strings.TrimLeft(text[i:], `\"'`)
		after := strings.TrimLeft(rest, " \t\r\n\f")
		isAssigned := strings.HasPrefix(after, ":") || strings.HasPrefix(after, "=")
		if dash := strings.IndexByte(name, '-'); !isAssigned && dash >= 0 && len(after) < len(rest) {
			isAssigned, name = true, name[dash:] // the value of a flag
		}
		if isAssigned && hasSecretWord(name) {
			return true
		}
	}
	return false
}

// isNameByte has the bytes of the names in assignedTo.
var isNameByte = func() (table [256]bool) {
	for i := range table {
		c := lower[i]
		table[i] = c == '_' || c == '.' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
	}
	return table
}()

type replacement struct {
	kind    kinds
	needs   string // a text that each match has; "": none
	pattern expr
	with    string
}

// replacements are applied in this order: longer formats first.
var replacements = []replacement{
	{keyBlock, "", newExpr(`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)`), placeholder},
	{jwt, ".", newExpr(`eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`), "<redacted-jwt>"},
	{cookieHeader, ":", newExpr(`(?i)(\b(?:set-)?cookie2?\s*:\s*)(?:=\\*"[^"\\\r\n]*\\*"|[^\r\n"'\\])+`), "${1}" + placeholder},
	{authHeader, "", newExpr(`(?i)(authorization(?:\\*["'])?\s*[:=]\s*(?:\\*["'])?)[^\r\n"'\\]+`), "${1}" + placeholder},
	{bearer, "", newExpr(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{6,}`), "${1}" + placeholder},
	{basic, "", newExpr(`((?i:\bbasic\s+))[A-Za-z0-9+/_-]*(?:[0-9=+/]|[a-z][A-Z]|[A-Z]{2})[A-Za-z0-9+/_=-]*`), "${1}" + placeholder},
	{userOfURL, "@", newExpr(`(://)[^\s/:@"']{16,}(?::[^\s/"']*)?@`), "${1}" + placeholder + "@"}, // too long for a user name
	{userOfURL, "@", newExpr(`(?i)(://[^\s/:@"']*:)[^\s/"']+@`), "${1}" + placeholder + "@"},
	{prefixedKey, "", newExpr(`\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`), placeholder},
	{vendorToken, "", newExpr(`\b(?:gh[a-z]_|github_pat_|glpat-|npm_|xox[a-z]-|xapp-|AIza|hf_|pypi-|dop_v1_|ya29\.|SG\.|AGE-SECRET-KEY-)[A-Za-z0-9_.-]{16,}`), placeholder},
	{cloudKey, "", newExpr(`\b(?:AKIA|ASIA)[A-Z0-9]{16}`), placeholder},
	{assigned, "\n", newExpr(`(?i)(` + assignedTo + `\s*:[ \t]*[|>][-+0-9]*[ \t]*\r?\n[ \t]+)[^\r\n]+(?:\r?\n[ \t]+[^\r\n]+)*`), "${1}" + placeholder}, // YAML
}

// unquotedReplacements are applied after quoted values are replaced.
var unquotedReplacements = []replacement{
	{argument, ":", newExpr(`(?i)(\bcurl` + argumentsOf + `(?-i:-[a-zA-Z]*[uU]|--user|--proxy-user)[\s=]*\$?[\\"']*[^\s:"'\\/]*:)` + shellWord), "${1}" + placeholder},
	{argument, "-p", newExpr(`(?i)(\b(?:mysql|mariadb)[a-z_-]*` + argumentsOf + `(?-i:-p))` + shellWord), "${1}" + placeholder},
	{argument, "-p", newExpr(`(?i)(\bsshpass` + argumentsOf + `(?-i:-p)\s*)` + shellWord), "${1}" + placeholder},
	{argument, "-a", newExpr(`(?i)(\bredis-cli` + argumentsOf + `(?-i:-a)\s*)` + shellWord), "${1}" + placeholder},
	{argument, "-p", newExpr(`(?i)(\b(?:docker|podman|buildah|nerdctl|skopeo|oras|helm\s+registry)\s+login` + argumentsOf + `(?-i:-p)[\s=]*)` + shellWord), "${1}" + placeholder},
	{netrc, "password", newExpr(`(\b(?:machine\s+\S+|default)\s+(?:(?:login|account)\s+\S+\s+)+password\s+)` + shellWord), "${1}" + placeholder},
	{assigned, "", newExpr(`(?i)(` + assignedTo + `(?:\\*["'])?\s*[:=]\s*)` + valueStart + `[^\s"',;&\\]*`), "${1}" + placeholder},
	{assigned, "-", newExpr(`(?i)(--?` + assignedTo + `\s+)(?:\$\([^()\r\n]*\)|\\+[^\s"',;&\\]|[^\s"'<,;&\\-])[^\s"',;&]*`), "${1}" + placeholder},
	{session, "=", newExpr(`(?i)(` + sessionName + `)` + valueStart + `[^\s"',;&\\]*`), "${1}" + placeholder},
}

func replaceAll(text string, found kinds, list []replacement) string {
	for _, s := range list {
		if found&s.kind != 0 && strings.Contains(text, s.needs) {
			text = s.pattern().ReplaceAllString(text, s.with)
		}
	}
	return text
}

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

func applyReplacements(text string) string { return replaceKinds(text, kindsIn(text)) }

// replaceKinds replaces the secrets of these kinds. A replacement adds no secrets of other kinds.
func replaceKinds(text string, found kinds) string {
	if found&data != 0 {
		text = dataURL().ReplaceAllStringFunc(text, func(url string) string {
			return "<redacted data-uri " + strconv.Itoa(strings.IndexByte(url, ',')) + " chars>"
		})
	}
	text = replaceAll(text, found, replacements)
	if found&(assigned|session) != 0 {
		text = replaceQuoted(text)
	}
	return replaceAll(text, found, unquotedReplacements)
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
