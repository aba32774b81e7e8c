package answer

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"codex-bridge.example/bridge/display"
)

// unsafeText replaces text that is not shown.
const unsafeText = "[preview truncated or unsafe content omitted]"

// Terminal sequences. A string sequence (OSC, DCS, APC, PM, SOS) without an end includes
// the rest, as in a terminal.
var (
	stringSequence = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?s)(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f]).*?(?:\x07|\x1b\\\\|\u009c|$)")
	})
	sequence = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?")
	})
	homeFolder = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(^|[\s"'=:,;(\[])(?:/(?:home|Users)/[^/\s"'\\,;:]+|/root|[A-Za-z]:\\Users\\[^\\/\s"',;:]+)`)
	})
)

// A chat would read these characters as markup or as a mention, so look-alikes replace
// them. asPath, for paths, hosts and patterns, keeps those that only asText replaces.
var (
	markup = []string{"&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "＠", "`", "｀", "[", "［", "]", "］"}
	asPath = strings.NewReplacer(markup...)
	asText = strings.NewReplacer(append(markup, "(", "（", ")", "）", "_", "＿", "\\", "＼", "|", "｜", "*", "∗", "~", "～")...)
)

// Display returns a text for a person as one line: invisible characters become question
// marks, and markup has no effect. It must not be applied twice, because & is escaped.
func Display(text string) string {
	text = strings.TrimSpace(replaceUnsafe(text, '?'))
	if text == "" {
		text = "<unknown>"
	}
	return asText.Replace(text)
}

// lineBreaks shows where a line ends.
var lineBreaks = strings.NewReplacer("\r\n", "⏎", "\n", "⏎", "\r", "⏎", "\v", "⏎", "\f", "⏎", "\u0085", "⏎", "\u2028", "⏎", "\u2029", "⏎")

// Clean removes invisible characters and terminal sequences, and shows line breaks as ⏎. It is
// idempotent.
func Clean(text string) string {
	text = sequence().ReplaceAllString(stringSequence().ReplaceAllString(text, ""), "")
	return strings.TrimSpace(replaceUnsafe(lineBreaks.Replace(strings.TrimSpace(text)), ' '))
}

// replaceUnsafe replaces line breaks by other. It drops invisible characters if other is a
// space, and replaces them otherwise.
func replaceUnsafe(text string, other rune) string {
	text = sequence().ReplaceAllString(stringSequence().ReplaceAllString(text, ""), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return other
		case unicode.IsSpace(r):
			return ' '
		case !isInvisible(r):
			return r
		case other == ' ':
			return -1
		}
		return other
	}, text)
}

// isInvisible reports whether a character is invisible or changes the direction of others.
func isInvisible(r rune) bool {
	switch {
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return true
	case r == '\u2800': // a braille pattern without dots
		return true
	}
	return false
}

// preview returns a clean text of at most most characters, without markup. It says so if a
// part is hidden.
func preview(text string, most int) string {
	hidden := stringSequence().MatchString(text)
	text = Clean(text)
	switch {
	case text == "" && !hidden:
		return ""
	case text == "":
		return unsafeText
	case hidden:
		return asText.Replace(truncate(text, most-len(unsafeText)-1)) + " " + unsafeText
	}
	return asText.Replace(truncate(text, most))
}

// truncate cuts a text without counting the rest, unless most is negative. The card shows the whole text elsewhere.
func truncate(text string, most int) string {
	const mark = "..."
	if most < 0 || display.StartRunes(text, most) == text {
		return text
	}
	return display.StartRunes(text, max(most-len(mark), 0)) + mark
}

// cleanAndCount cleans a text and cuts it to about most characters. It counts the invisible
// and the cut ones.
func cleanAndCount(text string, most int, safe *strings.Replacer) string {
	clean := Clean(text)
	note := ""
	if n := countRemoved(text, clean); n > 0 {
		note = fmt.Sprintf(" (%d characters not shown)", n)
	}
	shown, more := cut(clean, most-len(note))
	return safe.Replace(shown) + more + note
}

// truncateAndCount cuts a text to most characters and counts the rest.
func truncateAndCount(text string, most int) string {
	shown, more := cut(text, most)
	return shown + more
}

// cut cuts a text so that it has most characters with more, which counts the rest. It keeps
// a few characters even if there is no room.
func cut(text string, most int) (shown, more string) {
	const least = 8
	all := utf8.RuneCountInString(text)
	if all <= most {
		return text, ""
	}
	for kept := most; ; kept-- {
		more = fmt.Sprintf("… (+%d more characters)", all-kept)
		if kept <= least || kept+utf8.RuneCountInString(more) <= most {
			return display.StartRunes(text, max(kept, 0)), more
		}
	}
}

// countRemoved returns how many characters other than spaces clean lacks.
func countRemoved(text, clean string) int {
	count := func(text string) (n int) {
		for _, r := range text {
			if !unicode.IsSpace(r) {
				n++
			}
		}
		return n
	}
	return count(text) - count(clean)
}

// hideHomes writes home folders as ~, so that a chat does not learn the user's name.
func hideHomes(text string) string { return homeFolder().ReplaceAllString(text, "${1}~") }
