package setting

import (
	"slices"
	"strings"
)

const (
	minimal = "minimal"
	low     = "low"
)

// efforts are sent to Codex as they are. max and ultra came with newer models.
var efforts = []string{low, "medium", "high", "xhigh", "max", "ultra"}

// without lists models that refuse minimal, for a Codex that does not list them.
var refusesMinimalModels = []string{"gpt-5.5", "gpt-5.4", "gpt-5.4-mini", "gpt-5.3-codex-spark", "gpt-5.2"}

// Effort returns the reasoning effort of a turn for a level of thinking; "" is the model's
// usual effort. offered are the efforts that model/list names for the model, nil where it
// does not list the model: minimal is low for a model that does not take it.
func Effort(level, model string, offered []string) string {
	switch {
	case slices.Contains(efforts, level):
		return level
	case level != minimal:
		return ""
	case offered != nil && !slices.Contains(offered, minimal), offered == nil && refusesMinimal(model):
		return low
	}
	return minimal
}

// IsMinimal reports whether the effort for a level depends on what the model takes.
func IsMinimal(level string) bool { return level == minimal }

func refusesMinimal(model string) bool {
	return slices.Contains(refusesMinimalModels, strings.ToLower(strings.TrimSpace(model)))
}
