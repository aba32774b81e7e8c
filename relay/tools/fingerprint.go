package tools

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/gowebpki/jcs"
)

// None is the fingerprint of no tools at all.
const None = "[]"

// Fingerprint tells apart what a thread/start offers as dynamicTools, in either of the
// two forms that Codex takes. It is the canonical JSON of the tools (RFC 8785), sorted,
// each without its own description: an order and a new wording don't make another
// catalogue, all else does, descriptions within a schema too.
func Fingerprint(dynamicTools json.RawMessage) (string, error) {
	flat, err := flatten(dynamicTools)
	if err != nil {
		return "", err
	}
	canonical := make([]string, len(flat))
	for i, tool := range flat {
		delete(tool.members, "description")
		delete(tool.members, "type")
		if tool.namespace != "" {
			tool.members["namespace"], _ = json.Marshal(tool.namespace) // a text
		}
		text, err := json.Marshal(tool.members)
		if err != nil {
			return "", err
		}
		if text, err = jcs.Transform(text); err != nil {
			return "", errors.New("dynamicTools has no canonical form: " + err.Error())
		}
		canonical[i] = string(text)
	}
	slices.Sort(canonical)
	return "[" + strings.Join(canonical, ",") + "]", nil
}
