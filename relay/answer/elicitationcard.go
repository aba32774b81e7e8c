package answer

import (
	"fmt"
	"strings"

	"codex-bridge/rpc"
)

// ElicitationCard shows a server's question whether a tool may run.
func ElicitationCard(params rpc.Value) Card {
	const words, value, most, depth = 200, 120, 8, 3
	meta := params.Get("_meta")
	say := func(v rpc.Value, key string) string {
		return asText.Replace(short(Clean(clip(text(v, key), 4096)), words))
	}
	message := say(params, "message")
	if message == "" {
		message = "A server asks whether a tool may run."
	}
	lines := []string{message, ""}
	for _, l := range [...]struct{ name, text string }{
		{"App: ", say(meta, "connector_name")}, {"Tool: ", first2(say(meta, "tool_title"), say(meta, "tool_name"))},
		{"MCP server: ", say(params, "serverName")}, {"", say(meta, "tool_description")},
	} {
		if l.text != "" {
			lines = append(lines, l.name+l.text)
		}
	}
	var given []string
	add := func(name string, v rpc.Value) {
		given = append(given, "- "+asText.Replace(short(Clean(name), 80))+": "+asText.Replace(short(Clean(compact(outline(v, depth))), value)))
	}
	for e := range meta.Get("tool_params_display").Elements() {
		add(first2(text(e, "display_name"), text(e, "name")), e.Get("value"))
	}
	if given == nil {
		for key, v := range meta.Get("tool_params").Members() {
			add(key, v)
		}
	}
	lines = append(lines, listed("Parameters:", "- Additional parameters: %d more", given, most)...)
	var fields []string
	for key, f := range params.Get("requestedSchema").Get("properties").Members() {
		fields = append(fields, "- "+asText.Replace(short(Clean(first2(text(f, "title"), key)), 80)))
	}
	lines = append(lines, listed("Fields:", "- Additional fields: %d more", fields, most)...)
	return Card{Title: short(message, titleLength), Description: strings.TrimSpace(strings.Join(lines, "\n"))}
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

func first2(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// outline is a value as JSON, down to a depth.
func outline(v rpc.Value, depth int) string {
	if s, ok := v.Text(); ok {
		return quoteText(s)
	}
	var parts []string
	switch v.Kind() {
	case rpc.Object:
		if depth == 0 {
			return "{truncated}"
		}
		for key, m := range v.Members() {
			parts = append(parts, quoteText(key)+":"+outline(m, depth-1))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case rpc.Array:
		if depth == 0 {
			return "[truncated]"
		}
		for e := range v.Elements() {
			parts = append(parts, outline(e, depth-1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return string(v.Raw())
}

func quoteText(text string) string { return `"` + strings.ReplaceAll(clip(text, 512), `"`, `\"`) + `"` }
