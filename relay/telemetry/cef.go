package telemetry

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/display"
)

// cefExtension is one key of CEF with its value, and the length that CEF allows.
type cefExtension struct {
	key, value string
	maxLen     int
}

// CEF returns an entry as one line of the Common Event Format, without a line end. Longer values than
// CEF allows are cut.
func CEF(e decision.Entry, from LogSource) string {
	o := outcomeOf(e.Record)
	var line strings.Builder
	fmt.Fprintf(&line, "CEF:0|codex-bridge|codex-bridge|%s|%s|%s|%d|", cefHeader(from.Version), cefHeader(e.Verdict), cefHeader("Policy decision: "+e.Verdict), o.cefSeverity)
	all := []cefExtension{
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
		all = append(all, cefLabelled(fmt.Sprintf("cs%d", i+1), custom[0], custom[1], 4000)...)
	}
	all = append(all, cefLabelled("flexString1", "hash", e.Hash, 1023)...)
	all = append(all, cefLabelled("flexString2", "message", e.Message, 1023)...)
	before := ""
	for _, one := range all {
		if one.value != "" {
			line.WriteString(before + one.key + "=" + cefEscaped(cutText(one.value, one.maxLen)))
			before = " "
		}
	}
	return line.String()
}

// cefLabelled returns a custom key and its label; nothing without a value.
func cefLabelled(key, label, value string, maxLen int) []cefExtension {
	if value == "" {
		return nil
	}
	return []cefExtension{{key + "Label", label, maxLen}, {key, value, maxLen}}
}

// cefHeader escapes a field of the header, which has no line ends.
func cefHeader(text string) string {
	text = strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, text)
	return strings.NewReplacer(`\`, `\\`, `|`, `\|`).Replace(text)
}

// cefEscaped escapes the value of an extension. CEF has escapes for line ends only; other control
// characters become \uXXXX, with the backslash escaped.
func cefEscaped(text string) string {
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

// cutText limits a text to a number of bytes.
func cutText(text string, maxLen int) string {
	if len(text) <= maxLen {
		return text
	}
	return display.ClipTo(text, maxLen-len("…"))
}
