package answer

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/rpc"
)

// ElicitationCard returns the card of an MCP server's elicitation about running a tool.
func ElicitationCard(params rpc.Value) Card {
	const length, value, most, depth = 200, 120, 8, 3
	meta := params.Get("_meta")
	omitted := 0
	say := func(v rpc.Value, key string) string {
		clean := Clean(text(v, key))
		omitted += countRemoved(text(v, key), clean)
		shown, more := cut(clean, length)
		return asText.Replace(shown) + more
	}
	heading, more := cut(Clean(text(params, "message")), titleLength)
	heading = asText.Replace(heading) + more
	message := say(params, "message")
	if message == "" {
		message = "A server asks whether a tool may run."
		heading = message
	}
	lines := []string{message, ""}
	for _, l := range [...]struct{ name, text string }{
		{"App: ", say(meta, "connector_name")}, {"Tool: ", cmp.Or(say(meta, "tool_title"), say(meta, "tool_name"))},
		{"MCP server: ", say(params, "serverName")}, {"", say(meta, "tool_description")},
	} {
		if l.text != "" {
			lines = append(lines, l.name+l.text)
		}
	}
	var given []string
	add := func(name string, v rpc.Value) {
		text, cut := outline(v, depth)
		omitted += cut
		given = append(given, "- "+cleanAndCount(name, 80, asText)+": "+cleanAndCount(hideHomes(text), value, asText))
	}
	displayed := meta.Get("tool_params_display")
	for e := range displayed.Elements() {
		add(cmp.Or(text(e, "display_name"), text(e, "name")), e.Get("value"))
	}
	for key, v := range meta.Get("tool_params").Members() {
		if !isDisplayed(displayed, key, v) {
			add(key, v)
		}
	}
	lines = append(lines, listed("Parameters:", "- Additional parameters: %d more", given, most)...)
	var fields []string
	for key, f := range params.Get("requestedSchema").Get("properties").Members() {
		fields = append(fields, "- "+cleanAndCount(cmp.Or(text(f, "title"), key), 80, asText))
	}
	lines = append(lines, listed("Fields:", "- Additional fields: %d more", fields, most)...)
	card := Card{Title: heading, Description: strings.TrimSpace(strings.Join(lines, "\n"))}
	shown := strings.Split(card.Description, "\n")
	exact := exactElicitation(params, shown)
	if omitted > 0 {
		exact = append([]string{fmt.Sprintf("Not shown: %d characters", omitted)}, exact...)
	}
	// The title is the start of the message. A message that must be quoted has a line of its own.
	if message, _ := params.Get("message").Text(); display.Exact(message) == message && message != "" {
		shown[0] = message
	} else {
		exact = append(exact, exactText("Whole message: ", params, "message", shown[:1])...)
	}
	card.Lines = append(shown, exact...)
	return card
}

// exactElicitation returns lines with the texts of an elicitation, except its message, that the lines of the description
// do not show as they are.
func exactElicitation(params rpc.Value, shown []string) (lines []string) {
	meta := params.Get("_meta")
	add := func(label string, of rpc.Value, key string) {
		if text := text(of, key); !slices.Contains(shown, text) {
			lines = append(lines, exactText(label, of, key, shown)...)
		}
	}
	for _, one := range [...]struct{ label, key string }{
		{"App: ", "connector_name"}, {"Tool: ", "tool_title"}, {"Tool: ", "tool_name"}, {"Whole description: ", "tool_description"},
	} {
		add(one.label, meta, one.key)
	}
	add("MCP server: ", params, "serverName")
	for _, one := range [...]struct{ label, key string }{{"All parameters: ", "tool_params"}, {"All displayed parameters: ", "tool_params_display"}} {
		if v := meta.Get(one.key); v.Len() > 0 {
			lines = append(lines, one.label+display.Exact(string(v.Raw())))
		}
	}
	return lines
}

// isDisplayed reports whether the parameters for display have a parameter with this value.
func isDisplayed(displayed rpc.Value, name string, v rpc.Value) bool {
	for e := range displayed.Elements() {
		if e.Get("name").Is(name) && bytes.Equal(e.Get("value").Raw(), v.Raw()) {
			return true
		}
	}
	return false
}

func listed(title, more string, lines []string, most int) []string {
	if len(lines) == 0 {
		return nil
	}
	out := append([]string{"", title}, lines[:min(len(lines), most)]...)
	if n := len(lines) - most; n > 0 {
		out = append(out, fmt.Sprintf(more, n))
	}
	return out
}

// outline returns a value as JSON down to a depth. cut is how many characters are below it.
func outline(v rpc.Value, depth int) (_ string, cut int) {
	if s, ok := v.Text(); ok {
		return quoteText(s), 0
	}
	var parts []string
	add := func(name string, m rpc.Value) {
		text, n := outline(m, depth-1)
		parts, cut = append(parts, name+text), cut+n
	}
	switch v.Kind() {
	case rpc.Object:
		if depth == 0 {
			return "{truncated}", utf8.RuneCount(v.Raw())
		}
		for key, m := range v.Members() {
			add(quoteText(key)+":", m)
		}
		return "{" + strings.Join(parts, ",") + "}", cut
	case rpc.Array:
		if depth == 0 {
			return "[truncated]", utf8.RuneCount(v.Raw())
		}
		for e := range v.Elements() {
			add("", e)
		}
		return "[" + strings.Join(parts, ",") + "]", cut
	}
	return string(v.Raw()), 0
}

func quoteText(text string) string { return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"` }
