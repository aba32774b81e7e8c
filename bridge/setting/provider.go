package setting

import "strings"

// The providers whose names mean more than themselves.
const (
	openAI      = "openai"
	openAICodex = "openai-codex" // an older name
	codexOwn    = "codex"        // whichever Codex has
)

// Credential is what an account is known by.
type Credential struct {
	Type     string // oauth, token, api_key
	Provider string
}

// Native tells whether the account is one that Codex signs in with by itself, so that
// naming the provider "openai" would take it away from Codex. An API key never is.
func (c Credential) Native() bool {
	return (c.Type == "oauth" || c.Type == "token") && strings.EqualFold(strings.TrimSpace(c.Provider), openAI)
}

// RequestProvider is the model provider that a request names; "" leaves it to Codex.
func RequestProvider(name string, native bool) string {
	name = strings.TrimSpace(name)
	switch lower := strings.ToLower(name); lower {
	case "", codexOwn:
		return ""
	case openAI, openAICodex:
		switch {
		case native:
			return ""
		case lower == openAICodex:
			return openAI
		}
	}
	return name
}

// BoundProvider is the model provider that a binding keeps; "" none.
func BoundProvider(name string, native bool) string {
	name = strings.TrimSpace(name)
	if native && strings.EqualFold(name, openAI) {
		return ""
	}
	return name
}
