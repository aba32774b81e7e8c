package setting

import "strings"

// The providers whose names mean more than themselves.
const (
	openAI      = "openai"
	openAICodex = "openai-codex" // an older name
	codexOwn    = "codex"        // whichever Codex has
)

// RequestProvider returns the model provider that a request names; "" leaves it to Codex.
func RequestProvider(name string) string {
	name = strings.TrimSpace(name)
	switch strings.ToLower(name) {
	case codexOwn:
		return ""
	case openAICodex:
		return openAI
	}
	return name
}

// BoundProvider returns the model provider that a binding keeps; "" is none.
func BoundProvider(name string) string { return strings.TrimSpace(name) }
