package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"codex-bridge.example/bridge/methods"
)

// override is a key of Codex's configuration whose override the bridge does not just remove.
type override struct {
	key string
	// narrowest is the lowest value in the order of the key's values, as JSON. In place of any
	// other value it can only narrow what Codex may do, so it passes regardless of
	// policy.config_keys. "" if the key has none.
	narrowest string
	// loss says what happens without the override. The bridge then refuses it, where policy.config_keys does not
	// allow it.
	loss string
	// removable are values, as JSON, whose loss only narrows. The bridge removes them. So it does with the
	// opposite of a narrowest true or false. anyValue stands for all values.
	removable []string
}

// anyValue is the removable value of a key that only says how a feature works: without the feature it adds nothing.
const anyValue = "*"

const lostLimit = "without it the thread could do more"

// otherFeatures is the key of the features without a row of their own.
const otherFeatures = "features.*"

// knownFeatures are the features of Codex that the bridge knows.
var knownFeatures = sync.OnceValue(func() map[string]bool {
	known := make(map[string]bool)
	features, _ := methods.Features() // a test reads the table
	for _, f := range features {
		known[f.Name] = true
	}
	return known
})

// keyTable has the keys of keys.txt.
type keyTable struct {
	overrides []override
	byKey     map[string]*override // overrides by their keys
	wild      []*override          // those with a *
	never     []neverKey
	writable  []configKey
}

// neverKey is a key that no pattern of policy.config_keys allows.
type neverKey struct {
	path   []string // after methods.FoldName
	reason string
}

// keys parses the table at the first use. A test parses it, too.
var keys = sync.OnceValue(func() *keyTable {
	t, err := parseKeys(methods.KeyTable)
	if err != nil {
		panic(err)
	}
	return t
})

func parseKeys(text string) (*keyTable, error) {
	t := &keyTable{byKey: make(map[string]*override)}
	err := methods.EachRow("keys.txt", text, 8, func(cells []string) error {
		row, write, never := override{key: cells[0], narrowest: cells[1], loss: cells[6]}, cells[3], cells[7]
		names := strings.Split(row.key, ".")
		if cells[2] != "" {
			if err := json.Unmarshal([]byte(cells[2]), &row.removable); err != nil {
				return fmt.Errorf("the removable values: %w", err)
			}
		}
		switch {
		case row.loss != "":
			t.overrides = append(t.overrides, row)
		case row.narrowest != "" || row.removable != nil:
			return errors.New("it has values, and no loss")
		}
		if never != "" {
			one := neverKey{reason: never}
			for _, name := range names {
				one.path = append(one.path, methods.FoldName(name))
			}
			t.never = append(t.never, one)
		}
		if write == "" {
			return nil
		}
		allowed, ok := writeRules[write]
		if !ok {
			return fmt.Errorf("there is no rule %s for writing", write)
		}
		t.writable = append(t.writable, configKey{names, allowed})
		return nil
	})
	for i := range t.overrides {
		row := &t.overrides[i]
		if t.byKey[row.key] = row; strings.Contains(row.key, "*") {
			t.wild = append(t.wild, row)
		}
	}
	return t, err
}

// findOverride returns the row of the key at path; nil if there is none.
func findOverride(path []string) *override {
	if row := keys().byKey[strings.Join(path, ".")]; row != nil {
		return row
	}
	for _, row := range keys().wild {
		if segments := strings.Split(row.key, "."); len(segments) == len(path) && keyGlob(segments).covers(path) {
			return row
		}
	}
	return nil
}
