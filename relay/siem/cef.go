package siem

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"codex-bridge.example/bridge/store"
)

// extension is one key of CEF with its value, and the length that CEF allows.
type extension struct {
	key, value string
	maxLen     int
}

// CEF returns an entry as one line of the Common Event Format, without a line end. Longer values than
// CEF allows are cut.
func CEF(e store.Entry, from Source) string {
	o := outcomeOf(e.Decision)
	var line strings.Builder
	fmt.Fprintf(&line, "CEF:0|codex-bridge|codex-bridge|%s|%s|%s|%d|", header(from.Version), header(e.Verdict), header("Policy decision: "+e.Verdict), o.cefSeverity)
	all := []extension{
		{"rt", strconv.FormatInt(e.Time.UnixMilli(), 10), 20},
		{"externalId", strconv.FormatInt(e.Seq, 10), 40},
		{"deviceExternalId", from.Chain, 255},
		{"act", o.action.name, 63},
		{"outcome", o.status.name, 63},
		{"requestMethod", e.Method, 1023},
		{"sourceServiceName", e.Client, 1023},
		{"msg", e.Reason, 1023},
	}
	for i, custom := range [...][2]string{
		{"rule", e.Rule}, {"origin", e.Origin}, {"thread", e.Thread}, {"turn", e.Turn}, {"mode", e.Mode}, {"fields", strings.Join(e.Fields, " ")},
	} {
		all = append(all, labelled(fmt.Sprintf("cs%d", i+1), custom[0], custom[1], 4000)...)
	}
	all = append(all, labelled("flexString1", "hash", e.Hash, 1023)...)
	all = append(all, labelled("flexString2", "message", e.Message, 1023)...)
	before := ""
	for _, one := range all {
		if one.value != "" {
			line.WriteString(before + one.key + "=" + escaped(cut(one.value, one.maxLen)))
			before = " "
		}
	}
	return line.String()
}

// labelled returns a custom key and its label; nothing without a value.
func labelled(key, label, value string, maxLen int) []extension {
	if value == "" {
		return nil
	}
	return []extension{{key + "Label", label, maxLen}, {key, value, maxLen}}
}

// header escapes a field of the header, which has no line ends.
func header(text string) string {
	text = strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, text)
	return strings.NewReplacer(`\`, `\\`, `|`, `\|`).Replace(text)
}

// escaped escapes the value of an extension. CEF has escapes for line ends only; other control
// characters become \uXXXX, with the backslash escaped.
func escaped(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\\' || r == '=':
			out.WriteRune('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case isControl(r):
			fmt.Fprintf(&out, `\\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// isControl reports whether a character ends a line, or changes how the text around it is shown.
func isControl(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// cut limits a text to a number of bytes.
func cut(text string, maxLen int) string {
	if len(text) <= maxLen {
		return text
	}
	end := maxLen - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
