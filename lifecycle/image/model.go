package image

import (
	"fmt"
	"slices"

	"codex-bridge/rpc"
)

// Model is one that Codex offers.
type Model struct {
	ID, Name string
	Images   bool // it takes them
}

// Models reads what model/list has answered.
func Models(result rpc.Value) []Model {
	var all []Model
	for m := range result.Get("data").Elements() {
		var one Model
		one.ID, _ = m.Get("id").Text()
		one.Name, _ = m.Get("model").Text()
		for kind := range m.Get("inputModalities").Elements() {
			one.Images = one.Images || kind.Is("image")
		}
		all = append(all, one)
	}
	return all
}

// Usual is the first model that takes images and that may be used.
func Usual(models []Model, allowed func(name string) bool) (string, error) {
	for _, m := range models {
		if m.Images && allowed(m.Name) {
			return m.Name, nil
		}
	}
	return "", fmt.Errorf("none of the %d models that codex offers takes images and is allowed; name one with image.model", len(models))
}

// Suits tells what is wrong with a model, given by its name or its id.
func Suits(models []Model, name string) error {
	i := slices.IndexFunc(models, func(m Model) bool { return m.Name == name || m.ID == name })
	if i < 0 {
		return fmt.Errorf("codex offers no model %q; \"codex-bridge image describe\" without --model takes one that it offers", name)
	}
	if !models[i].Images {
		return fmt.Errorf("the model %q takes no images; name another one", name)
	}
	return nil
}
