package setting

import (
	"slices"
	"strings"
)

const (
	minimal = "minimal"
	low     = "low"
)

// efforts go to Codex as they are. max and ultra came with newer models.
var efforts = []string{low, "medium", "high", "xhigh", "max", "ultra"}

// without are the models that refuse minimal.
var without = []string{"gpt-5.5", "gpt-5.4", "gpt-5.4-mini", "gpt-5.3-codex-spark", "gpt-5.2"}

// Effort is the reasoning effort of a turn for a level of thinking; "" leaves it to the
// model. offered is what model/list says the model takes, nil where that is not known:
// minimal is low for a model that does not take it.
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

func refusesMinimal(model string) bool {
	return slices.Contains(without, strings.ToLower(strings.TrimSpace(model)))
}
