package image

import (
	"fmt"
	"slices"

	"codex-bridge.example/rpc"
)

// Model is a model that Codex offers.
type Model struct {
	ID, Name string
	Images   bool // it takes images
}

// readModels reads the result of model/list.
func readModels(result rpc.Value) []Model {
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

// defaultModel returns the first model that takes images and is allowed.
func defaultModel(models []Model, allowed func(name string) bool) (string, error) {
	for _, m := range models {
		if m.Images && allowed(m.Name) {
			return m.Name, nil
		}
	}
	return "", fmt.Errorf("codex offers %d models, and none of them takes images and is allowed; set image.model", len(models))
}

// checkModel returns an error if a model, given by its name or id, can't describe images.
func checkModel(models []Model, name string) error {
	i := slices.IndexFunc(models, func(m Model) bool { return m.Name == name || m.ID == name })
	if i < 0 {
		return fmt.Errorf("codex offers no model %q; \"codex-bridge image describe\" without --model takes one that it offers", name)
	}
	if !models[i].Images {
		return fmt.Errorf("the model %q takes no images; name another one", name)
	}
	return nil
}
