package policy

import (
	"strconv"
	"strings"

	"codex-bridge.example/rpc"
)

// decideInjectedItems lets a client add what a client may say elsewhere: messages of the user, the
// instructions of a developer, and answers of an earlier conversation. Any other kind is refused: calls,
// results, reasoning and summaries that never were, and words in the voice of the system, of a hook or
// of Codex.
//
// Measured with Codex 0.169: it passes such items to the model as they are, with roles and
// texts that it uses itself, and shows them to no person. A turn's input with the same text is shown as
// the user's message.
func (c *request) decideInjectedItems() {
	items, ok := c.requireArray("items", "items")
	if !ok {
		return
	}
	n := 0
	for item := range items.Elements() {
		if reason := injectionReason(item); reason != "" {
			c.refuse(rpc.CodeRefused, "params.items["+strconv.Itoa(n)+"]", RuleMethods, reason,
				`send plain messages only, or set policy.methods."thread/inject_items" = "allow"`)
			return
		}
		n++
	}
}

// injectionReason returns why an item is not a plain message; "" if it is.
func injectionReason(item rpc.Value) string {
	if !item.Get("type").Is("message") {
		return "an item of the type " + FormatValue(item.Get("type")) + " would show the model calls or results that the bridge has not checked"
	}
	for key, v := range item.Members() {
		switch key {
		case "type":
		case "role":
			if !v.Is("user") && !v.Is("assistant") && !v.Is("developer") {
				return "the message has the role " + FormatValue(v) + ", and a client may speak as user, assistant or developer"
			}
		case "id", "phase", "status":
			if v.Kind() != rpc.String && v.Kind() != rpc.Null {
				return "the message's " + key + " is " + v.Kind().String()
			}
		case "content":
			if reason := contentReason(v); reason != "" {
				return reason
			}
		default:
			return "a message with " + key + " is not known"
		}
	}
	if !item.Get("role").Exists() {
		return "the message has no role"
	}
	switch {
	case item.Get("role").Is("user"):
		return fragmentReason(item.Get("content"), isFragment)
	case item.Get("role").Is("developer"): // its tags are a client's: the thread's developerInstructions take any text
		return fragmentReason(item.Get("content"), hasHookPrompt)
	}
	return ""
}

// fragmentReason returns why a message reads as Codex's own words; "" if it does not. Codex puts these
// into messages of the user, each in a tag: the prompt of a hook, the environment, the output of the
// user's command. Any tag around a whole text counts, because later versions have others. So does the
// text of all parts together, as the model reads it.
func fragmentReason(content rpc.Value, is func(text string) bool) string {
	var all strings.Builder
	for part := range content.Elements() {
		text, _ := part.Get("text").Text()
		if is(text) {
			return fragmentText
		}
		all.WriteString(text)
	}
	if is(all.String()) {
		return fragmentText
	}
	return ""
}

const fragmentText = "a tag around the whole text, a hook's prompt, or the heading of AGENTS.md would show the model words of Codex"

func isFragment(text string) bool {
	lower := strings.ToLower(strings.TrimSpace(text))
	return strings.HasPrefix(lower, "<") && strings.HasSuffix(lower, ">") ||
		strings.HasPrefix(lower, "# agents.md instructions") || hasHookPrompt(text)
}

func hasHookPrompt(text string) bool { return strings.Contains(strings.ToLower(text), "<hook_prompt") }

func contentReason(content rpc.Value) string {
	if content.Kind() != rpc.Array {
		return "the message's content is " + content.Kind().String()
	}
	for part := range content.Elements() {
		text := "text"
		if part.Get("type").Is("input_image") {
			text = "image_url"
		} else if !part.Get("type").Is("input_text") && !part.Get("type").Is("output_text") {
			return "the message has more than texts and images: " + FormatValue(part)
		}
		for key, v := range part.Members() {
			if key != "type" && key != text && key != "detail" || v.Kind() != rpc.String {
				return "a part of the message has " + key + " as " + v.Kind().String()
			}
		}
	}
	return ""
}
