package programs

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"time"

	"codex-bridge.example/bridge/supervise"
	"codex-bridge.example/relay/hook"
)

// forgetReports forgets the refusals that were reported, once in each interval. It returns how many more there were.
func (r *running) forgetReports(interval time.Duration) (more int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.since) >= interval {
		more = r.unlogged
		r.since, r.untold, r.more, r.unlogged = now, nil, 0, 0
		clear(r.reported)
	}
	return more
}

// note remembers a decision and reports it, equal ones once. It returns whether the program may start.
func (r *running) note(d Decision, start supervise.Start) (starts bool) {
	if r.remember(d, nameKey(start), start) && d.Report != nil {
		d.Report()
	}
	return d.Refusal == ""
}

// remember remembers a decision. It returns whether it is to be reported.
func (r *running) remember(d Decision, name [sha256.Size]byte, start supervise.Start) (first bool) {
	if !d.Lasts && d.Report == nil && d.Refusal == "" {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answers == nil {
		r.answers, r.reported = make(map[[sha256.Size]byte]Decision), make(map[[sha256.Size]byte]bool)
	}
	switch {
	case !d.Lasts || len(r.answers) >= maxAnswers || !isKnown(start):
	case d.Refusal == "":
		r.answers[fileKey(start)] = d
	default:
		r.answers[name] = d
		delete(r.answers, fileKey(start)) // an earlier yes
	}
	if d.Report == nil && d.Refusal == "" || r.reported[name] {
		return false
	}
	switch {
	case d.Report == nil && !d.Lasts: // another decision about it may have a report
	case len(r.reported) < maxReports:
		first, r.reported[name] = true, true
	case d.Report != nil:
		r.unlogged++
	}
	switch {
	case d.Refusal == "":
	case len(r.untold) < maxTold && !slices.Contains(r.untold, d.Refusal):
		r.untold = append(r.untold, d.Refusal)
	default:
		r.more++
	}
	return first
}

// logMore logs how many refused starts have no entry of their own.
func (r *running) logMore() {
	r.mu.Lock()
	n := r.unlogged
	r.unlogged = 0
	r.mu.Unlock()
	if n > 0 {
		r.client.More(r.call, n)
	}
}

// Close logs the refusals that have only been counted. Call it when Codex has ended.
func (p *Programs) Close() {
	p.mu.Lock()
	order := p.order
	p.mu.Unlock()
	for _, key := range order {
		if one := p.find(key); one != nil {
			one.logMore()
		}
	}
	if n := p.unknown.forgetReports(0); n > 0 {
		p.decides.More(n)
	}
}

// TooMany refuses a program because too many others wait for their decisions. first reports whether it is the first of
// several, which alone is logged. It returns whether the program may start nevertheless, as under audit.
func (p *Programs) TooMany(start supervise.Start, first bool) (starts bool) {
	const reason = "too many other programs wait for a decision or an answer"
	refuse := func(d Decision) Decision {
		if !first {
			d.Report = nil
		}
		return d
	}
	if len(start.Calls) == 0 {
		return p.noteUnassigned(refuse(p.decides.Refuse(start, reason)), start)
	}
	starts = true
	for _, c := range start.Calls {
		one := p.find(callKey{c.Thread, c.Turn, c.ID})
		if one == nil {
			starts = p.noteUnassigned(refuse(p.decides.Refuse(start, reason)), start) && starts
			continue
		}
		starts = one.note(refuse(one.client.Refuse(one.call, start, reason)), start) && starts
	}
	return starts
}

// Result must be called when a call has ended. It returns what the model has to know about the programs of a call that were refused; "" if there are
// none since the last time.
func (p *Programs) Result(call *hook.Call) string {
	one := p.find(callKey{call.Thread(), call.TurnID, call.ToolUseID})
	if one == nil {
		return ""
	}
	one.logMore()
	one.mu.Lock()
	defer one.mu.Unlock()
	if len(one.untold) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("codex-bridge refused to start these programs, which failed with \"Operation not permitted\":")
	for _, refused := range one.untold {
		text.WriteString("\n- " + refused)
	}
	if one.more > 0 {
		text.WriteString("\n- and " + strconv.Itoa(one.more) + " more starts")
	}
	one.untold, one.more = nil, 0
	return text.String() + "\n" + hook.AdviceForModel
}
