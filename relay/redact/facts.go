package redact

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Facts returns the facts of a decision, in JSON, unchanged if they have no secret. Else it returns
// facts that say so, with the user and the call: a decision can't be computed from redacted values.
func (r Redactor) Facts(facts string) string {
	if facts == "" {
		return ""
	}
	clean, err := r.JSON([]byte(facts))
	plain := jsontext.Value(facts)
	if err == nil && plain.Compact(options...) == nil && bytes.Equal(clean, plain) {
		return facts
	}
	var kept struct {
		Unknown string `json:"unknown"`
		User    string `json:"user,omitempty"`
		ID      string `json:"id,omitempty"`
	}
	_ = json.Unmarshal(clean, &kept) // without a user, if it is not JSON
	kept.Unknown = "it has a value that looks like a secret, which is not recorded"
	out, _ := json.Marshal(kept) // texts can be encoded
	return string(out)
}
