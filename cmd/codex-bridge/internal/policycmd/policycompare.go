package policycmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/cmd/codex-bridge/internal/simulate"
)

// compare returns the differences between the expected and the actual decision, followed by the
// actual decision; nil if there are none.
func (p *caseFolder) compare(want simulate.CaseWant, d policy.Decision) ([]string, error) {
	r := &comparison{}
	r.check("verdict", string(want.Verdict), string(d.Verdict))
	if want.Error != nil {
		got := "none"
		if d.Err != nil {
			got = fmt.Sprint(int64(d.Err.Code))
		}
		r.check("error", fmt.Sprint(*want.Error), got)
	}
	if want.Rule != "" {
		r.checkRule(want.Rule, rulesOf(d))
	}
	if want.Fields != nil {
		if err := p.fields(r, want.Fields, d.Changes); err != nil {
			return nil, err
		}
	}
	if want.Gets != nil && d.Verdict != policy.Deny {
		gets := want.Gets
		if whole, ok := gets.(string); ok {
			gets = []byte(whole)
		}
		text, err := canonical(gets)
		if err != nil {
			return nil, err
		}
		got, err := canonical(d.Message)
		if err != nil {
			return nil, err
		}
		r.check("codex gets", string(p.json([]byte(text))), got)
	}
	if len(r.diffs) == 0 {
		return nil, nil
	}
	if d.Err != nil {
		r.add("got: error %d: %s", d.Err.Code, d.Err.Message)
	}
	for _, c := range d.Changes {
		r.add("got: %s: %s -> %s", c.Field, valueOr(c.From, "left out"), valueOr(c.To, simulate.RemovedField))
		r.add("     %s%s: %s", c.Rule, placeSuffix(c.Origin), c.Reason)
	}
	return r.diffs, nil
}

// compareCommand is compare for a shell command.
func compareCommand(want simulate.CaseWant, a toolcall.Explanation) []string {
	r := &comparison{}
	r.check("verdict", string(want.Verdict), a.Decision)
	if want.Rule != "" {
		r.checkRule(want.Rule, []string{a.Rule})
	}
	if len(r.diffs) > 0 {
		r.add("got: %s%s", a.Reason, placeSuffix(a.Origin))
	}
	return r.diffs
}

// fields compares the changed fields.
func (p *caseFolder) fields(r *comparison, want map[string]any, changes []policy.Change) error {
	got := make(map[string]string)
	for _, c := range changes {
		text := simulate.RemovedField
		if c.To != nil {
			var err error
			if text, err = canonical([]byte(c.To)); err != nil {
				return err
			}
		}
		got[c.Field] = text
	}
	for _, field := range slices.Sorted(maps.Keys(want)) {
		text := simulate.RemovedField
		if want[field] != simulate.RemovedField {
			raw, err := canonical(want[field])
			if err != nil {
				return err
			}
			text = string(p.json([]byte(raw)))
		}
		name := p.text(field)
		if there, ok := got[name]; !ok {
			r.check(name, text, "unchanged")
		} else {
			r.check(name, text, there)
		}
		delete(got, name)
	}
	for _, field := range slices.Sorted(maps.Keys(got)) {
		r.check(field, "unchanged", got[field])
	}
	return nil
}

// canonical returns a value as JSON with sorted keys.
func canonical(v any) (string, error) {
	if text, ok := v.([]byte); ok {
		v = json.RawMessage(text)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var plain any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&plain); err != nil {
		return "", err
	}
	raw, err = json.Marshal(plain)
	return string(raw), err
}

// rulesOf returns the rules that led to a decision.
func rulesOf(d policy.Decision) []string {
	var rules []string
	if d.Err != nil {
		var data struct{ Rule string }
		if json.Unmarshal(d.Err.Data, &data) == nil && data.Rule != "" {
			rules = append(rules, data.Rule)
		}
	}
	for _, c := range d.Changes {
		rules = append(rules, c.Rule)
	}
	return rules
}

// comparison collects differences.
type comparison struct{ diffs []string }

func (r *comparison) add(format string, args ...any) {
	r.diffs = append(r.diffs, fmt.Sprintf(format, args...))
}

func (r *comparison) check(what, want, got string) {
	if want != got {
		r.add("%s: expected %s", what, want)
		r.add("%s  got %s", strings.Repeat(" ", len(what)), got)
	}
}

func (r *comparison) checkRule(want string, got []string) {
	if !slices.Contains(got, want) {
		r.check("rule", want, strings.Join(append(got, "")[:max(1, len(got))], ", "))
	}
}
