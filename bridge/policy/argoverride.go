package policy

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/toml"
	"codex-bridge.example/rpc"
)

// decideConfig checks -c KEY=VALUE.
//
// Measured with Codex 0.169: it splits the text at the first = and trims both sides; without = or a
// key it fails. It splits the key at every dot, without quotes, escapes or trimming; an empty
// segment counts. It reads the value as TOML, else as plain text without the quotes around it. The
// last -c of a key wins.
func (c *argsDecider) decideConfig(item argv.Item) {
	key, text, ok := strings.Cut(item.Value, "=")
	key, text = strings.TrimSpace(key), strings.TrimSpace(text)
	if !ok || key == "" || !utf8.ValidString(item.Value) {
		c.refuse(c.flagText(item), RuleKeys, "it is not KEY=VALUE", "write it as codex --help does") // so does Codex
		return
	}
	value, ok := parseOverrideValue(text)
	if !ok {
		if row := findLoss(strings.Split(key, "."), ""); row != nil {
			c.refuse(c.flagText(item)+" "+ArgText(key), RuleKeys, "parsers may read its value differently, and "+row.loss, "write it as TOML, a text in quotes")
			return
		}
		c.drop(item, c.flagText(item)+" "+ArgText(key), RuleKeys, "parsers may read its value differently", "write it as TOML, a text in quotes")
		return
	}
	switch passes := c.p.isNarrowest(key, string(value)) || c.p.isJudgedDefault(key, string(value)); {
	case passes && isPlainLiteral(text, string(value)), isJudgedRoots(key, value):
		return
	case passes:
		c.refuse(c.flagText(item)+" "+ArgText(key), RuleKeys, "parsers may read its value differently, and "+lostLimit, "write it as "+key+"="+string(value))
		return
	case key == approvalPolicyKey || strings.HasPrefix(key, approvalPolicyKey+"."):
		c.refuse(c.flagText(item)+" "+ArgText(key), RuleApproval, "without it Codex could ask less, or ask a client that wants fewer questions", `set approval_policy to "on-request" or "never", or send approvalPolicy with each thread`)
		return
	}
	c.decideKey(item, key, string(value))
}

// isJudgedDefault reports whether an override may stay because Codex's configuration could have a looser
// value. Each request that opens a thread is judged with the override as the default.
func (p *Policy) isJudgedDefault(key, value string) bool {
	switch key {
	case approvalPolicyKey:
		return value == `"never"` || value == `"on-request"`
	case sandboxModeKey:
		return p.maxLevel >= WorkspaceWrite && value == `"`+WorkspaceWrite.String()+`"`
	case defaultPermissionsKey:
		return p.maxLevel >= WorkspaceWrite && value == `"`+builtinProfiles[WorkspaceWrite]+`"`
	}
	return false
}

// isJudgedRoots reports whether an override is a list of writable roots, which may stay as isJudgedDefault says:
// without it, a longer list of Codex's configuration would count. The folders that the policy does not allow
// become writable in no thread.
//
// Measured with Codex 0.169: command/exec does not make them writable.
func isJudgedRoots(key string, value json.RawMessage) bool {
	var roots []string
	if key != workspaceWriteKey+".writable_roots" || json.Unmarshal(value, &roots) != nil || roots == nil {
		return false
	}
	return !slices.ContainsFunc(roots, func(root string) bool { return !filepath.IsAbs(root) || filepath.Clean(root) != root })
}

// isPlainLiteral reports whether all TOML parsers read text as value, a JSON text: a bare word or
// number, or a text in quotes without escapes.
func isPlainLiteral(text, value string) bool {
	word := strings.Trim(value, `"`)
	return text == value || text == word || text == "'"+word+"'"
}

// decideFeature checks --enable and --disable. Measured with Codex 0.169: they mean -c
// features.X=true and false, and fail for an unknown name.
func (c *argsDecider) decideFeature(item argv.Item, value string) {
	if !utf8.ValidString(item.Value) {
		c.refuse(c.flagText(item), RuleKeys, "it is not a name", "write it as codex features list does") // so does Codex
		return
	}
	if key := "features." + item.Value; !c.p.isNarrowest(key, value) {
		c.decideKey(item, key, value)
	}
}

// decideKey removes a flag whose key or value the policy would not allow in a thread's overlay. It
// refuses the command line if Codex would act on the flag and must not lose it.
func (c *argsDecider) decideKey(item argv.Item, key, value string) {
	what := c.flagText(item)
	switch item.Name {
	case "--config":
		what += " " + ArgText(key)
	case "--enable", "--disable":
		what += " " + ArgText(item.Value)
	}
	found, lost := c.p.checkOverride(key, value)
	if advice := c.flagInstead(key); found != nil && advice != "" {
		found.Reason = "the policy never allows it: " + advice
	}
	switch {
	case found == nil:
	case lost && (!c.line.Proxy || slices.Contains([]string{"--config", "--enable", "--disable"}, item.Name)):
		c.refuse(what, found.Rule, found.Reason, found.Hint)
	default:
		c.drop(item, what, found.Rule, found.Reason, found.Hint)
	}
}

// flagInstead says what to use in place of a key that never passes, on a command line that has flags and no
// fields; "" for another key, and for an app-server, whose clients have the fields.
func (c *argsDecider) flagInstead(key string) string {
	folded := methods.FoldName(key)
	switch {
	case c.line.Proxy:
		return ""
	case folded == "approvalpolicy" && c.line.Exec():
		return "exec asks nobody; it uses \"never\" where " + RuleApproval + " has it, and else the bridge declines each question"
	case folded == "approvalpolicy":
		return "use the flag --ask-for-approval"
	case folded == "sandboxmode":
		return "use the flag --sandbox"
	case folded == "approvalsreviewer":
		return "use the flag --approve-for-me"
	}
	return ""
}

// checkOverride returns the change that the policy would make to an overlay with this key and
// value; nil if it would allow them. lost reports that Codex must not lose the override.
func (p *Policy) checkOverride(key, value string) (fault *ArgChange, lost bool) {
	line := `{"method":"-c","params":{"config":{` + string(JSONString(key)) + `:` + value + `}}}`
	m, err := rpc.ParseMessage([]byte(line))
	if err != nil || m.Truncated() {
		return &ArgChange{Rule: RuleKeys, Reason: "the bridge can't read its value", Hint: "set less"}, findLoss(strings.Split(key, "."), "") != nil
	}
	judge := overlayRule{folders: &folders{request: p.newRequest(&methodSpec{}, m, State{})}}
	judge.decideTable(m.Params.Get("config"), nil)
	switch {
	case judge.err != nil:
		var r Refusal
		if json.Unmarshal(judge.err.Data, &r) != nil {
			return &ArgChange{Rule: RuleKeys, Reason: judge.err.Message, Hint: "remove it"}, false
		}
		if judge.lost {
			return &ArgChange{Rule: r.Rule, Reason: r.Reason, Hint: r.Hint}, true
		}
		return &ArgChange{Rule: r.Rule, Reason: r.Reason, Hint: "remove it, or choose an allowed value"}, false
	case len(judge.changes) == 0:
		return nil, false
	}
	first := judge.changes[0]
	fault = &ArgChange{Rule: first.Rule, Reason: first.Reason, Hint: "remove it"}
	name := strings.TrimPrefix(first.Field, "params.config.")
	switch {
	case first.Rule == RuleKeys && forbiddenReason(splitDots(strings.Split(name, ".")), true) == "":
		fault.Hint = "remove it, or add " + ArgText(name) + " to " + RuleKeys
	case first.Rule != RuleKeys:
		fault.Hint = "remove it, or choose an allowed value"
	}
	if name != key {
		fault.Reason = ArgText(name) + ": " + fault.Reason
	}
	return fault, false
}

// parseOverrideValue returns the value of an override as JSON. It returns false if two TOML parsers
// may read the text differently.
func parseOverrideValue(text string) (json.RawMessage, bool) {
	if doc, err := toml.Values("_x_ = " + text); err == nil {
		_, plain := doc["_x_"].(string)
		if len(doc) != 1 || !plain && strings.ContainsAny(text, "\n\r") {
			// A second line may add to a table. TOML parsers differ on such text.
			return nil, false
		}
		raw, err := json.Marshal(toJSONValue(doc["_x_"]))
		return raw, err == nil
	}
	// The text is not TOML, so Codex reads it as plain text. Another version of TOML may read these
	// characters.
	if strings.ContainsAny(text, "\"'\\[]{}\n\r") {
		return nil, false
	}
	return bytes.TrimSpace(JSONString(text)), true
}

// toJSONValue replaces values that JSON can't express by values that no rule accepts as a name.
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
	case toml.Date:
		return []string{string(v)}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0
		}
	}
	return v
}
