package policy

import (
	"strconv"

	"codex-bridge.example/rpc"
)

// decideInjectedItems lets a client add messages to the model's context, as a turn's input and the
// instructions of a thread do. Other items would show calls and results that never were.
func (c *decider) decideInjectedItems([]string) {
	items, ok := c.requireArray("items", "items")
	if !ok {
		return
	}
	n := 0
	for item := range items.Elements() {
		if reason := injectionReason(item); reason != "" {
			c.refuse(rpc.CodeRefused, "params.items["+strconv.Itoa(n)+"]", ruleMethods, reason,
				`send messages only, or set policy.methods."thread/inject_items" = "allow"`)
			return
		}
		n++
	}
}

// injectionReason returns why an item is not a plain message; "" if it is.
func injectionReason(item rpc.Value) string {
	if !item.Get("type").Is("message") {
		return "an item of the type " + formatValue(item.Get("type")) + " would show the model calls or results that the bridge has not checked"
	}
	for key, v := range item.Members() {
		switch key {
		case "type":
		case "role":
			if !v.Is("user") && !v.Is("assistant") && !v.Is("developer") && !v.Is("system") {
				return "the message has the role " + formatValue(v)
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
	return ""
}

func contentReason(content rpc.Value) string {
	if content.Kind() != rpc.Array {
		return "the message's content is " + content.Kind().String()
	}
	for part := range content.Elements() {
		text := "text"
		if part.Get("type").Is("input_image") {
			text = "image_url"
		} else if !part.Get("type").Is("input_text") && !part.Get("type").Is("output_text") {
			return "the message has more than texts and images: " + formatValue(part)
		}
		for key, v := range part.Members() {
			if key != "type" && key != text && key != "detail" || v.Kind() != rpc.String {
				return "a part of the message has " + key + " as " + v.Kind().String()
			}
		}
	}
	return ""
}
