package setting

import "strings"

// Priority and Flex are the service tiers that have other spellings.
const (
	Priority = "priority"
	Flex     = "flex"
)

// ServiceTier is a service tier as Codex takes it: "fast" is priority, and a tier that is
// not known here is left as it is. "" is none.
func ServiceTier(text string) string {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "fast", Priority:
		return Priority
	case Flex:
		return Flex
	}
	return text
}
