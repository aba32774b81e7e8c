package policy

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"codex-bridge/bridge/argv"
	"codex-bridge/rpc"
)

// config judges -c. Measured: it is cut at its first =, and both sides are
// trimmed; without a = or a key codex refuses it. The key is cut at every dot,
// without quotes, escapes or trimming, and an empty segment is a key of that
// name: as the outermost keys of an overlay are. The value is TOML, and where it
// is none the text itself, without the quotes around it. The last one wins.
func (c *argsDecider) decideConfig(item argv.Item) {
	key, text, ok := strings.Cut(item.Value, "=")
	key, text = strings.TrimSpace(key), strings.TrimSpace(text)
	if !ok || key == "" || !utf8.ValidString(item.Value) {
		c.drop(item, c.flagText(item), ruleKeys, "it is not KEY=VALUE", "write it as codex --help does")
		return
	}
	value, ok := parseOverrideValue(text)
	if !ok {
		c.drop(item, c.flagText(item)+" "+argText(key), ruleKeys, "its value can't be read with certainty", "write it as TOML, a text in quotes")
		return
	}
	c.decideKey(item, key, string(value))
}

// feature judges --enable and --disable: short for -c features.X=true or false
// (measured; names that codex does not know it refuses).
func (c *argsDecider) decideFeature(item argv.Item, value string) {
	if !utf8.ValidString(item.Value) {
		c.drop(item, c.flagText(item), ruleKeys, "it is no name", "write it as codex features list does")
		return
	}
	c.decideKey(item, "features."+item.Value, value)
}

// key takes the flag out unless the key passes with this value, as it would in
// the overlay of a thread: each leaf for itself.
func (c *argsDecider) decideKey(item argv.Item, key, value string) {
	what := c.flagText(item)
	switch item.Name {
	case "--config":
		what += " " + argText(key)
	case "--enable", "--disable":
		what += " " + argText(item.Value)
	}
	if found, ok := c.p.checkOverride(key, value); ok {
		c.drop(item, what, found.Rule, found.Reason, found.Hint)
	}
}

// overlayFault is why an overlay with this key and value would be changed.
func (p *Policy) checkOverride(key, value string) (fault ArgChange, found bool) {
	line := `{"method":"-c","params":{"config":{` + string(jsonString(key)) + `:` + value + `}}}`
	m, err := rpc.ParseMessage([]byte(line))
	if err != nil || m.Truncated() {
		return ArgChange{Rule: ruleKeys, Reason: "its value can't be judged", Hint: "set less"}, true
	}
	judge := &decider{p: p, spec: &methodSpec{}, m: m, params: m.Params}
	judge.decideTable(m.Params.Get("config"), nil)
	switch {
	case judge.err != nil:
		var r Refusal
		if json.Unmarshal(judge.err.Data, &r) != nil {
			return ArgChange{Rule: ruleKeys, Reason: judge.err.Message, Hint: "leave it out"}, true
		}
		return ArgChange{Rule: r.Rule, Reason: r.Reason, Hint: "leave it out, or choose one of those"}, true
	case len(judge.changes) == 0:
		return ArgChange{}, false
	}
	first := judge.changes[0]
	fault = ArgChange{Rule: first.Rule, Reason: first.Reason, Hint: "leave it out"}
	name := strings.TrimPrefix(first.Field, "params.config.")
	switch {
	case first.Rule == ruleKeys && forbiddenReason(splitDots(strings.Split(name, ".")), true) == "":
		fault.Hint = "leave it out, or add " + argText(name) + " to " + ruleKeys
	case first.Rule != ruleKeys:
		fault.Hint = "leave it out, or choose one of those"
	}
	if name != key {
		fault.Reason = argText(name) + ": " + fault.Reason
	}
	return fault, true
}

// argValue is the value of an override as JSON, of the kind that codex takes it
// for. It is false where two parsers of TOML might differ: then nobody knows what
// codex would see.
func parseOverrideValue(text string) (json.RawMessage, bool) {
	var doc map[string]any
	if _, err := toml.Decode("_x_ = "+text, &doc); err == nil {
		_, plain := doc["_x_"].(string)
		if len(doc) != 1 || !plain && strings.ContainsAny(text, "\n\r") {
			// A second line may add to a table; whether that is TOML is where parsers
			// differ.
			return nil, false
		}
		raw, err := json.Marshal(toJSONValue(doc["_x_"]))
		return raw, err == nil
	}
	// No TOML here, so a plain text there, unless it has something about it that
	// another version of TOML might read.
	if strings.ContainsAny(text, "\"'\\[]{}\n\r") {
		return nil, false
	}
	return bytes.TrimSpace(jsonString(text)), true
}

// jsonKind turns what JSON has no word for into a value that is of no kind a rule
// would let pass for a name.
func toJSONValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = toJSONValue(member)
		}
	case []any:
		for i, element := range v {
			v[i] = toJSONValue(element)
		}
	case []map[string]any:
		for _, element := range v {
			toJSONValue(element)
		}
	case time.Time:
		return []string{v.String()}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0
		}
	}
	return v
}
