package config

import (
	"cmp"
	"strings"
	"time"
)

// Ends returns the time from which the rule is past Until, or the zero time for a rule without it. A
// date holds to the end of its day in UTC.
func (r *Rule) Ends() time.Time {
	if r.Until == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, r.Until)
	if day, notDay := time.Parse(time.DateOnly, r.Until); notDay == nil {
		at, err = day.AddDate(0, 0, 1), nil
	}
	if err != nil || at.Before(longAgo) { // Load refuses such a text
		return longAgo
	}
	return at
}

var longAgo = time.Unix(0, 0)

// IsExpired reports whether the rule is past Until.
func (r *Rule) IsExpired(now time.Time) bool {
	ends := r.Ends()
	return !ends.IsZero() && !now.Before(ends)
}

// Why returns the reason of the rule with its approvers, owner, ticket and until, as people read it in each refusal,
// question and list; "" if the rule has none of them.
func (r *Rule) Why() string {
	about := r.about()
	if about == "" {
		return r.Reason
	}
	return cmp.Or(strings.TrimSuffix(r.Reason, "."), "a rule says "+r.Decision) + about
}

// about returns the members that stand beside the reason, in brackets after a space, or "".
func (r *Rule) about() string {
	var about []string
	approvers := ""
	if q, ok := r.Quorum(); ok {
		approvers = q.String()
	}
	for _, field := range [...]struct{ name, text string }{{"approvers", approvers}, {"owner", r.Owner}, {"ticket", r.Ticket}, {"until", r.Until}} {
		if field.text != "" {
			about = append(about, field.name+" "+field.text)
		}
	}
	if about == nil {
		return ""
	}
	return " (" + strings.Join(about, ", ") + ")"
}

// IsException reports whether the rule allows something for an owner, under a ticket, or for a time. Each use of it is
// logged.
func (r *Rule) IsException() bool {
	return r.Decision == "allow" && (r.Owner != "" || r.Ticket != "" || r.Until != "")
}

// ExpiredRules returns a line for each rule that is past its Until: its place, what it is about, and what
// still holds of it.
func (p *Policy) ExpiredRules(now time.Time) (lines []string) {
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.IsExpired(now) {
			continue
		}
		rest := "it no longer allows"
		if r.Decision != "allow" {
			rest = "its " + r.Decision + " still holds"
		}
		if r.Reason != "" {
			rest += ": " + strings.TrimSuffix(r.Reason, ".")
		}
		lines = append(lines, r.Origin.String()+": the rule for "+r.subject()+" has expired, "+rest+r.about())
	}
	return lines
}

// subject returns the text that the rule matches, for people.
func (r *Rule) subject() string {
	for _, field := range [...]struct{ name, text string }{{"command", r.Command}, {"path", r.Path}, {"tool", r.Tool}} {
		if field.text != "" {
			return field.name + " " + quote(field.text)
		}
	}
	return "nothing" // Load refuses such a rule
}

// checkUntil refuses a text that is neither a date nor a time.
func checkUntil(s string) *Error {
	if !(&Rule{Until: s}).Ends().Equal(longAgo) {
		return nil
	}
	return newError(quote(s)+" is not a day or a time of the calendar", `write a date such as "2026-12-31", or a time such as "2026-12-31T18:00:00Z"`)
}
