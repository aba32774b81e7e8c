// Package simulate has the inputs and comparisons of `codex-bridge policy test` and `policy simulate`.
//
// ReadCases reads the test files of policy test: messages, arguments of Codex or shell commands of
// the model, and the expected decisions. It refuses files with unknown keys. It decides nothing.
//
// Compare compares policies over recorded decisions: it computes each decision again under the
// current policy and a candidate, by the functions that decide in the proxy. It counts decisions that
// the record does not determine, with the reason. Suggest proposes rules for recorded denials.
//
// The functions may be called concurrently.
package simulate

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/trace"
)

// Record is a recorded replayable.
type Record struct {
	decision.Entry
	Trace   string // the name of its trace; "" for an entry of the decision log
	Unknown string // why it can't be recomputed; "" if Facts say
}

// Entries returns the records of the decision log.
func Entries(log iter.Seq2[decision.Entry, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for e, err := range log {
			if !yield(Record{Entry: e}, err) || err != nil {
				return
			}
		}
	}
}

// Passed returns the calls of a trace that ran without a decision in the log. since selects events.
// The calls of a trace without such records count as one record each that can't be recomputed.
func Passed(file trace.File, since func(trace.Event) bool) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		recorded, other := false, 0
		for e, err := range trace.Events(file.Path) {
			if err != nil {
				yield(Record{}, fmt.Errorf("%s: %w", file.Path, err))
				return
			}
			if !since(e) {
				continue
			}
			switch e.Type {
			case trace.ToolCall:
				other++
			case trace.CallPassed:
				recorded = true
				if r, logged := passed(file, e); !logged && !yield(r, nil) {
					return
				}
			}
		}
		for range other {
			if recorded {
				return
			}
			if !yield(Record{Trace: file.Name, Unknown: "a trace of an older version, or one without hooks, has no inputs of decisions"}, nil) {
				return
			}
		}
	}
}

// passed returns the record of an event, and whether the decision log has it.
func passed(file trace.File, e trace.Event) (r Record, logged bool) {
	r = Record{Trace: file.Name}
	r.Seq, r.Time, r.Thread, r.Turn, r.Verdict = e.Seq, e.Time, e.ThreadID, e.TurnID, string(policy.Pass)
	var p trace.Passed
	switch err := json.Unmarshal(e.Data, &p); {
	case err != nil || p.Method == "":
		r.Unknown = "the event of the trace is truncated"
	case !p.Intact():
		r.Unknown = "it has a value that looks like a secret, which is not recorded"
	}
	r.Method, r.Client, r.Mode, r.Facts = p.Method, p.Client, p.Mode, p.Facts
	return r, p.Logged
}

// isContinued reports whether a record continues the one before, which has the inputs.
func (r *Record) isContinued() bool {
	return r.Rule == approvals.RulePerson && r.Facts == "" && strings.HasPrefix(r.Reason, "(") && !strings.HasPrefix(r.Reason, "(1/")
}

// isAnswered reports whether the record is about the answer to a question of the policy.
func (r *Record) isAnswered() bool {
	return strings.HasPrefix(r.Rule, "approvals.") || r.Rule == "policy.gate"
}

// agrees reports whether the record may be of a policy with an effect. The answer of a second person comes after
// that of the first, as a record that repeats it.
func (r *Record) agrees(e replay.Effect) bool {
	return r.recorded() == e || e == replay.NeedsApprovers && (r.isAnswered() || r.Rule == "policy.rule.approvers")
}

// recorded returns the effect that the policy then had.
func (r *Record) recorded() replay.Effect {
	if r.Rule == "approvals.desk" {
		return replay.NeedsApprovers
	}
	byPerson := r.isAnswered()
	switch policy.Verdict(r.Verdict) {
	case policy.Deny:
		if byPerson || r.Method == "hook/permissionRequest" {
			return replay.Asks
		}
		return replay.Denies
	case policy.Accept:
		if byPerson {
			return replay.Asks
		}
	case policy.Rewrite:
		return replay.Asks
	}
	return replay.Allows
}

// replayable is a record that can be recomputed, or why not.
type replayable struct {
	*Record
	facts   *replay.Facts // nil: none
	replay  *replay.Case
	byRow   bool // the method alone decides
	unknown string
}

// prepare reads the facts of a record.
func prepare(r *Record) replayable {
	d := replayable{Record: r, unknown: r.Unknown}
	if d.unknown != "" {
		return d
	}
	if r.Facts == "" {
		_, client := methods.Lookup(methods.ClientRequest, r.Method)
		_, server := methods.Lookup(methods.ServerRequest, r.Method)
		switch {
		case strings.HasPrefix(r.Rule, "policy.methods") || r.Rule == "policy.unknown_methods":
			d.byRow = true
		case client:
			d.unknown = "it is about a client's message, whose content is not recorded"
		case server, strings.HasPrefix(r.Method, "hook/"):
			d.unknown = "an older version recorded it, without the inputs of the decision"
		default:
			d.unknown = "it is not about a call or a message"
		}
		return d
	}
	f, err := replay.DecodeFacts([]byte(r.Facts))
	if err != nil {
		d.unknown = "this version can't read its inputs"
		return d
	}
	d.facts = f
	d.replay, d.unknown = replay.NewCase(r.Method, f)
	return d
}

// effect returns the effect of a policy, as its rules count at now.
func (d *replayable) effect(p *policy.Policy, now time.Time) replay.Recomputed {
	switch {
	case d.unknown != "":
		return replay.Recomputed{Unknown: d.unknown}
	case d.byRow:
		return replay.RecomputeMethod(p, d.Method)
	}
	return replay.Recompute(p, d.replay, now)
}

// user returns the user of a record.
func (d *replayable) user() string {
	if d.facts == nil || d.facts.User == "" {
		return "not recorded"
	}
	return d.facts.User
}

// summary returns a record as a person reads it.
func (d *replayable) summary() string {
	text := d.Method
	if d.facts != nil {
		if what := d.facts.Summary(); what != "" {
			text = what
		}
	}
	return display.Clip(text)
}

// repeats recognizes records about one question or call: the log has one for the decision and one for
// each answer. It keeps the newest ones only. Codex may ask several questions about one call.
type repeats struct {
	seen map[string]bool
	ring []string
	next int
}

const maxRepeats = 4096

func (s *repeats) isRepeat(d *replayable) bool {
	if d.isContinued() {
		return true
	}
	if d.facts == nil || d.facts.ID == "" || d.facts.Unknown != "" {
		return false
	}
	text := "request " + string(d.facts.Params)
	if len(d.facts.Starts) > 0 {
		text = fmt.Sprintf("program %q", d.facts.Starts)
	}
	if t := d.facts.Tool; t != nil {
		text = "call " + t.Name
		if t.Command != nil {
			text += " " + *t.Command
		}
	}
	key := strings.Join([]string{d.Thread, d.Turn, d.facts.ID, decision.Sum([]byte(text))}, "\x00")
	if s.seen[key] {
		return true
	}
	if s.seen == nil {
		s.seen, s.ring = make(map[string]bool), make([]string, maxRepeats)
	}
	delete(s.seen, s.ring[s.next])
	s.seen[key], s.ring[s.next] = true, key
	s.next = (s.next + 1) % maxRepeats
	return false
}
