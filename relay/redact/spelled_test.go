package redact

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// spellers are ways to write a word in a shell or in a log.
var spellers = map[string]func(string) string{
	"words joined by Codex": joined,
	"single quotes":         func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
	"double quotes":         func(s string) string { return `"` + escapeEach(s, "\\\"$`") + `"` },
	"printf %q of bash":     func(s string) string { return escapeEach(s, " !\"#$&'()*,;<>?[\\]^`{|}~") },
	"numbers in $'…'":       func(s string) string { return "$'" + eachASCII(s, `\x%02x`) + "'" },
	"octal numbers in $'…'": func(s string) string { return "$'" + eachASCII(s, `\%03o`) + "'" },
	"PowerShell": func(s string) string {
		return `"` + strings.NewReplacer("`", "``", `"`, "`\"", "$", "`$").Replace(s) + `"`
	},
	"cmd.exe": func(s string) string {
		return strings.NewReplacer("^", "^^", "&", "^&", "|", "^|", "<", "^<", ">", "^>").Replace(s)
	},
	"a continued line":      func(s string) string { return s[:3] + "\\\n" + s[3:] },
	"JSON":                  encoded,
	"JSON of PHP":           func(s string) string { return strings.ReplaceAll(encoded(s), "/", `\/`) },
	"JSON of .NET":          func(s string) string { return strings.ReplaceAll(encoded(s), "+", `\u002B`) },
	"Shellwords of Ruby":    func(s string) string { return escapeEach(s, " !\"#$%&'()*;<=>?[\\]^`{|}~") },
	"a pattern or Markdown": func(s string) string { return escapeEach(s, "\\`*_{}[]()<>#+-.!|/") },
	"a Go string":           strconv.Quote,
	"a Go string of ASCII":  strconv.QuoteToASCII,
	"numbers in JSON":       func(s string) string { return `"` + eachASCII(s, `\u%04x`) + `"` },
	"as it is":              func(s string) string { return s },
}

// joined quotes a word as the Rust crate shlex does, with which Codex joins words: each part as long as one kind of
// quotes allows.
func joined(word string) string {
	var out strings.Builder
	for word != "" {
		plain := prefix(word, func(c rune) bool { return c < 0x80 && (isNameByte[c] || strings.ContainsRune("/:=@%+", c)) })
		single := prefix(word, func(c rune) bool { return c != '\'' && c != '\\' })
		double := prefix(word, func(c rune) bool { return !strings.ContainsRune("`$!^\\", c) })
		n := max(plain, single, double)
		switch {
		case n == 0:
			n = 1
			out.WriteString(`\` + word[:n])
		case n == plain:
			out.WriteString(word[:n])
		case n == single:
			out.WriteString("'" + word[:n] + "'")
		default:
			out.WriteString(`"` + word[:n] + `"`)
		}
		word = word[n:]
	}
	return out.String()
}

func prefix(word string, ok func(rune) bool) int {
	if n := strings.IndexFunc(word, func(c rune) bool { return !ok(c) }); n >= 0 {
		return n
	}
	return len(word)
}

func escapeEach(s, special string) string {
	var out strings.Builder
	for _, c := range s {
		if strings.ContainsRune(special, c) {
			out.WriteByte('\\')
		}
		out.WriteRune(c)
	}
	return out.String()
}

// eachASCII formats the ASCII characters that are no letters.
func eachASCII(s, format string) string {
	var out strings.Builder
	for _, c := range s {
		if c < 0x80 && isEscaped(c) {
			fmt.Fprintf(&out, format, c)
		} else {
			out.WriteRune(c)
		}
	}
	return out.String()
}

func encoded(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// A known secret with any printable character is replaced, whole, however it is spelled.
func TestSpelledSecretsAreRedacted(t *testing.T) {
	for c := rune(' '); c < 0x7f; c++ {
		for _, form := range []string{"S3cr%stPa55word", "%sS3crtPa55word", "S3crtPa55word%s", "S3%[1]scr%[1]s%[1]stPa55word"} {
			secret := fmt.Sprintf(form, string(c))
			for name, spell := range spellers {
				checkSpelled(t, name, secret, spell(secret))
				checkSpelled(t, "the command of a shell, "+name, secret, joined("mysql -p"+spell(secret)+" -h 'x' && true"))
			}
		}
	}
}

// So is any secret, in any nesting.
func TestNestedSpellingsAreRedacted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching("[!-~]{3}[a-z][ -~\n\té]{3,12}[!-~]").Draw(t, "secret")
		for name, spell := range spellers {
			checkSpelled(t, name, secret, joined("tool "+spell(secret)))
			if name != "a continued line" { // the end of a line is "n" in JSON
				checkSpelled(t, name, secret, encoded(spell(secret)))
			}
		}
	})
}

// A long run of quotes is read once, also for a secret with a quote: else this text would take hours.
func TestRunsOfQuotesAreReadOnce(t *testing.T) {
	for _, quotes := range []string{"'", "\\\n"} {
		text := "S3" + strings.Repeat(quotes, 4<<20)
		for _, secret := range []string{`"S3crtPa55word`, `S3"crtPa55word`, `/S3crtPa55word`} {
			if got := New(Limits{}, secret).replaceKnown(text); got != text {
				t.Errorf("%q is found in quotes", secret)
			}
		}
	}
}

func checkSpelled(t rapid.TB, name, secret, text string) {
	t.Helper()
	if !strings.ContainsFunc(secret, isEscaped) && !strings.Contains(text, secret) {
		return // broken by a continued line, which no tool does
	}
	got := New(Limits{}, secret).replaceKnown("say " + text + " now")
	before, after, ok := strings.Cut(got, placeholder)
	if !ok || !strings.HasPrefix(before, "say ") || !strings.HasSuffix(after, " now") || len(got) > len("say "+placeholder+" now")+len(text)-len(secret)+1 {
		t.Fatalf("%s of %q: %q becomes %q", name, secret, text, got)
	}
}
