package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"codex-bridge/rpc"
)

// unsafeText stands for what is not shown of a text.
const unsafeText = "[preview truncated or unsafe content omitted]"

// Terminal sequences. A string sequence (OSC, DCS, APC, PM, SOS) without an end
// swallows the rest, as a terminal would.
var (
	stringSequence = regexp.MustCompile("(?s)(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f]).*?(?:\x07|\x1b\\\\|\u009c|$)")
	sequence       = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?")
	homeFolder     = regexp.MustCompile(`(^|[\s"'=:,;(\[])(?:/(?:home|Users)/[^/\s"'\\,;:]+|/root|[A-Za-z]:\\Users\\[^\\/\s"',;:]+)`)
)

// A chat reads these characters as markup or as a mention, so that look-alikes are shown in
// their place. asPath is for paths, hosts and patterns, which need the others of asText.
var (
	markup = []string{"&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "＠", "`", "｀", "[", "［", "]", "］"}
	asPath = strings.NewReplacer(markup...)
	asText = strings.NewReplacer(append(markup, "(", "（", ")", "）", "_", "＿", "\\", "＼", "|", "｜", "*", "∗", "~", "～")...)
)

// Display is a text as a person may be shown it, in one line: what can't be seen
// stands as a question mark, markup does nothing. Display is not for its own output:
// an & that is escaped twice shows as what it was escaped to.
func Display(text string) string {
	text = strings.TrimSpace(stripped(text, '?'))
	if text == "" {
		text = "<unknown>"
	}
	return asText.Replace(text)
}

// Clean takes out of a text what can't be seen or steers a terminal, and folds its
// white space. What it returns it would not change.
func Clean(text string) string {
	return strings.Join(strings.Fields(stripped(text, ' ')), " ")
}

// stripped puts other in the place of white space that is none to look at; what is
// not to be seen is dropped where other is a space, and else replaced too.
func stripped(text string, other rune) string {
	text = sequence.ReplaceAllString(stringSequence.ReplaceAllString(text, ""), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return other
		case unicode.IsSpace(r):
			return ' '
		case !unseen(r):
			return r
		case other == ' ':
			return -1
		}
		return other
	}, text)
}

// unseen tells of characters that a person does not see, or that turn the order of
// the others.
func unseen(r rune) bool {
	switch {
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return true
	case r == '\u2800': // a braille pattern without dots
		return true
	}
	return false
}

// preview is a clean text of at most most characters, without markup. A person is
// told when a part of it is kept from them.
func preview(text string, most int) string {
	hidden := stringSequence.MatchString(text)
	text = Clean(text)
	switch {
	case text == "" && !hidden:
		return ""
	case text == "":
		return unsafeText
	case hidden:
		return asText.Replace(bare(text, most-len(unsafeText)-1)) + " " + unsafeText
	}
	return asText.Replace(bare(text, most))
}

// bare cuts a text without a count. The card has the whole text in another place.
func bare(text string, most int) string {
	const mark = "..."
	if clip(text, most) == text {
		return text
	}
	return clip(text, max(most-len(mark), 0)) + mark
}

// fit cleans a text, cuts it to about most characters, and counts what it leaves out: the end, and characters that
// can't be seen.
func fit(text string, most int, safe *strings.Replacer) string {
	clean := Clean(text)
	note := ""
	if n := lost(text, clean); n > 0 {
		note = fmt.Sprintf(" (%d characters not shown)", n)
	}
	shown, more := cut(clean, most-len(note))
	return safe.Replace(shown) + more + note
}

// short cuts a text to most characters, with a count of the others.
func short(text string, most int) string {
	shown, more := cut(text, most)
	return shown + more
}

// cut cuts a text so that it has most characters with the count of those that are left out, which is more. It leaves a
// few characters where there is no room for both.
func cut(text string, most int) (shown, more string) {
	const least = 8
	all := utf8.RuneCountInString(text)
	if all <= most {
		return text, ""
	}
	for kept := most; ; kept-- {
		more = fmt.Sprintf("… (+%d more characters)", all-kept)
		if kept <= least || kept+utf8.RuneCountInString(more) <= most {
			return clip(text, max(kept, 0)), more
		}
	}
}

// lost returns how many characters other than spaces clean lacks of text.
func lost(text, clean string) int {
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

// clip cuts a text after most characters.
func clip(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i]
		}
		n++
	}
	return text
}

// compact writes home folders as ~, so that a chat does not learn the name of the
// person.
func compact(text string) string { return homeFolder.ReplaceAllString(text, "${1}~") }

// homes returns the line that names the home folders that compact has written as ~; "" for none.
func homes(v rpc.Value) string {
	var found []string
	eachText(v, func(text string) {
		for _, match := range homeFolder.FindAllStringSubmatch(text, -1) {
			if home := fit(match[0][len(match[1]):], valueLength, asPath); !slices.Contains(found, home) {
				found = append(found, home)
			}
		}
	})
	if found == nil {
		return ""
	}
	return "~ stands for " + samples(found, 20)
}
