package simulate

import (
	"cmp"
	"iter"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/replay"
)

// GCPercent is the debug.SetGCPercent for Compare in a program of its own: each record leaves much garbage, and the
// results that are kept are few.
const GCPercent = 200

// maxExamples, maxGroups and maxUsers bound a report.
const (
	maxExamples = 3
	maxGroups   = 1000
	maxUsers    = 1000
)

// Report is the result of Compare. The JSON names are stable.
type Report struct {
	Records    int64 `json:"records"`
	Repeated   int64 `json:"repeated"` // about a call or question that another record is about
	Recomputed int64 `json:"recomputed"`
	Unchanged  int64 `json:"unchanged"`
	Looser     int64 `json:"looser"`
	Tighter    int64 `json:"tighter"`

	// LooserKeys are keys by which the candidate may allow more, whatever the record shows.
	LooserKeys    []string  `json:"looserKeys"`
	Changes       []*Change `json:"changes"`
	Users         []*User   `json:"users"`
	NotRecomputed []*Count  `json:"notRecomputed"`
	// Otherwise are decisions on which the current policy differs from the recorded one.
	Otherwise []*Change `json:"recordedOtherwise"`
}

// IsLooser reports whether the candidate allows anything that the current policy does not.
func (r *Report) IsLooser() bool { return r.Looser > 0 || len(r.LooserKeys) > 0 }

// Change counts the decisions that a rule changes in the same way.
type Change struct {
	From          replay.Effect `json:"from"`
	To            replay.Effect `json:"to"`
	FromApprovers string        `json:"fromApprovers,omitempty"` // the groups, separated by ", "
	ToApprovers   string        `json:"toApprovers,omitempty"`
	Looser        bool          `json:"looser"`
	Starts        time.Time     `json:"starts,omitzero"` // when a rule ends; zero: now
	Rule          string        `json:"rule"`            // of the stricter effect
	Origin        string        `json:"origin"`          // "user FILE:LINE"
	Count         int64         `json:"count"`
	Examples      []Example     `json:"examples"`
}

// Example is a decision that changes.
type Example struct {
	Seq    int64     `json:"seq"`
	Trace  string    `json:"trace,omitempty"`
	Time   time.Time `json:"time"`
	Thread string    `json:"thread"`
	Client string    `json:"client"`
	User   string    `json:"user"`
	Method string    `json:"method"`
	What   string    `json:"what"`
	Reason string    `json:"reason"`
}

// User counts the changes for a user.
type User struct {
	Name    string `json:"user"`
	Looser  int64  `json:"looser"`
	Tighter int64  `json:"tighter"`
}

// Count counts decisions that can't be recomputed.
type Count struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// judged is a decision with its effects under two policies.
type judged struct {
	replayable
	now                replay.Recomputed // the effect of the current policy now
	current, candidate replay.Recomputed
	starts             time.Time // the time of both effects; zero: now
}

// unknown returns why an effect is unknown; "" if both are known.
func (j *judged) unknown() string {
	if j.current.Unknown == "" && j.candidate.Unknown != "" {
		return j.candidate.Unknown + " (under the candidate)"
	}
	return j.current.Unknown
}

// judge computes a decision under both policies, as their rules count at the first of times. The others are the
// times at which a rule ends: if the effects differ later, those count, and first those by which the candidate is
// looser. So the candidate can't hide an exception that is longer.
func judge(d replayable, current, candidate *policy.Policy, times []time.Time) judged {
	at := func(i int) judged {
		j := judged{replayable: d, current: d.effect(current, times[i])}
		if j.candidate = j.current; candidate != current {
			j.candidate = d.effect(candidate, times[i])
		}
		if i > 0 {
			j.starts = times[i]
		}
		return j
	}
	now, last := at(0), len(times)-1
	now.now = now.current
	if last == 0 || now.unknown() != "" || now.candidate.IsLooser(now.current) {
		return now
	}
	// An end never makes a policy looser, so an effect that is the same at last is so at all times.
	if end := at(last); end.unknown() == "" && end.current.IsSame(now.current) && end.candidate.IsSame(now.candidate) {
		return now
	}
	chosen := now
	for i := 1; i <= last; i++ {
		j := at(i)
		j.now = now.current
		switch {
		case j.unknown() != "" || j.candidate.IsLooser(j.current):
			return j
		case chosen.candidate.IsSame(chosen.current):
			chosen = j
		}
	}
	return chosen
}

// Compare computes all records under both policies, from now on. The memory does not grow with their number.
func Compare(records iter.Seq2[Record, error], current, candidate *policy.Policy, now time.Time) (*Report, error) {
	ends := append(current.RuleEnds(now), candidate.RuleEnds(now)...)
	slices.SortFunc(ends, time.Time.Compare)
	times := append([]time.Time{now}, slices.CompactFunc(ends, time.Time.Equal)...)
	t := &tally{changes: make(map[changeKey]*Change), otherwise: make(map[changeKey]*Change), users: make(map[string]*User), unknown: make(map[string]int64)}
	err := inOrder(records, func() func(*Record) judged {
		known := make(memo)
		return func(r *Record) judged {
			return known.judge(r, func(d replayable) judged { return judge(d, current, candidate, times) })
		}
	}, func(j judged) { t.add(&j) })
	if err != nil {
		return nil, err
	}
	return t.finish(), nil
}

// memo has the results of decisions with equal inputs: agents repeat commands. It belongs to one goroutine.
type memo map[string]judged

const maxMemo = 10_000

// callFacts matches the facts of a call or question, up to the first inputs of its decision.
var callFacts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\{(?:"user":"([^"\\]*)",)?(?:"id":"([^"\\]*)",)?"settings":`)
})

// judge returns the result of a record, by compute if it is new.
func (m memo) judge(r *Record, compute func(replayable) judged) judged {
	at := callFacts().FindStringSubmatchIndex(r.Facts)
	if at == nil || r.Unknown != "" {
		return compute(prepare(r))
	}
	key := r.Method + "\x00" + r.Facts[at[1]:]
	j, known := m[key]
	if !known {
		j = compute(prepare(r))
		if len(m) == maxMemo {
			clear(m)
		}
		kept := j
		kept.Record, kept.replay = nil, nil
		m[key] = kept
		return j
	}
	j.Record = r
	if j.facts != nil {
		f := *j.facts
		f.User, f.ID = "", ""
		if at[2] >= 0 {
			f.User = r.Facts[at[2]:at[3]]
		}
		if at[4] >= 0 {
			f.ID = r.Facts[at[4]:at[5]]
		}
		j.facts = &f
	}
	return j
}

// batchSize is the number of records that a goroutine computes at a time.
const batchSize = 256

// inOrder computes the results of all records, on all processors, and then calls use with them in their order.
// worker returns the function of one goroutine that computes a result.
func inOrder[T any](records iter.Seq2[Record, error], worker func() func(*Record) T, use func(T)) error {
	type batch struct {
		records []Record
		done    chan []T
	}
	workers := runtime.GOMAXPROCS(0)
	work, order := make(chan batch, workers), make(chan batch, 2*workers)
	for range workers {
		compute := worker()
		go func() {
			for b := range work {
				results := make([]T, len(b.records))
				for i := range b.records {
					results[i] = compute(&b.records[i])
				}
				b.done <- results
			}
		}()
	}
	var failed error
	go func() {
		defer close(order)
		defer close(work)
		b := batch{done: make(chan []T, 1)}
		send := func() {
			order <- b
			work <- b
			b = batch{done: make(chan []T, 1)}
		}
		for r, err := range records {
			if err != nil {
				failed = err
				return
			}
			if b.records = append(b.records, r); len(b.records) == batchSize {
				send()
			}
		}
		send()
	}()
	for b := range order {
		for _, one := range <-b.done {
			use(one)
		}
	}
	return failed
}

// changeKey has the fields of a Change that are equal for all its decisions.
type changeKey struct {
	from, to                   replay.Effect
	fromApprovers, toApprovers string
	starts                     time.Time
	rule, origin               string
}

func changeOf(from, to replay.Recomputed, starts time.Time) changeKey {
	return changeKey{
		from: from.Effect, to: to.Effect, starts: starts,
		fromApprovers: config.JoinQuorums(from.Approvers, ", "), toApprovers: config.JoinQuorums(to.Approvers, ", "),
	}
}

// tally counts the results.
type tally struct {
	report             Report
	repeats            repeats
	changes, otherwise map[changeKey]*Change
	users              map[string]*User
	unknown            map[string]int64
}

func (t *tally) add(j *judged) {
	t.report.Records++
	if t.repeats.isRepeat(&j.replayable) {
		t.report.Repeated++
		return
	}
	if reason := j.unknown(); reason != "" {
		addReason(t.unknown, reason)
		return
	}
	t.report.Recomputed++
	// Of a call that has passed, Codex itself may have asked.
	if !j.agrees(j.now.Effect) && j.Mode == string(config.Enforce) && !j.byRow && (j.Trace == "" || j.now.Effect == replay.Denies) {
		was, by := j.recorded(), j.now
		if was > by.Effect {
			by = replay.Recomputed{Rule: j.Rule, Origin: j.Origin, Reason: j.Reason}
		}
		count(t.otherwise, j, changeOf(replay.Recomputed{Effect: was}, j.now, time.Time{}), j.now.Effect < was, by)
	}
	switch key := changeOf(j.current, j.candidate, j.starts); {
	case j.candidate.IsLooser(j.current):
		t.report.Looser++
		t.user(j).Looser++
		count(t.changes, j, key, true, j.current)
	case j.candidate.IsTighter(j.current):
		t.report.Tighter++
		t.user(j).Tighter++
		count(t.changes, j, key, false, j.candidate)
	default:
		t.report.Unchanged++
	}
}

// count counts a change by a rule. Beyond maxGroups all count together.
func count(all map[changeKey]*Change, j *judged, key changeKey, looser bool, by replay.Recomputed) {
	key.rule, key.origin = by.Rule, by.Origin
	c := all[key]
	if c == nil && len(all) >= maxGroups {
		key = changeKey{from: key.from, to: key.to, rule: "other rules"}
		if !looser {
			key.rule = "other tighter rules"
		}
		c = all[key]
	}
	if c == nil {
		c = &Change{
			From: key.from, To: key.to, FromApprovers: key.fromApprovers, ToApprovers: key.toApprovers, Looser: looser, Starts: key.starts,
			Rule: key.rule, Origin: key.origin, Examples: []Example{},
		}
		all[key] = c
	}
	c.Count++
	if len(c.Examples) < maxExamples {
		c.Examples = append(c.Examples, j.example(by.Reason))
	}
}

// example returns a decision as an example, with a reason.
func (d *replayable) example(reason string) Example {
	return Example{
		Seq: d.Seq, Trace: d.Trace, Time: d.Time, Thread: d.Thread, Client: d.Client, User: d.user(), Method: d.Method, What: d.summary(), Reason: reason,
	}
}

func (t *tally) user(j *judged) *User {
	name := j.user()
	if t.users[name] == nil && len(t.users) >= maxUsers {
		name = "other users"
	}
	if t.users[name] == nil {
		t.users[name] = &User{Name: name}
	}
	return t.users[name]
}

func (t *tally) finish() *Report {
	r := &t.report
	r.LooserKeys = []string{}
	r.Changes, r.Otherwise = sorted(t.changes), sorted(t.otherwise)
	r.Users = slices.SortedFunc(maps.Values(t.users), func(a, b *User) int {
		return cmp.Or(cmp.Compare(b.Looser+b.Tighter, a.Looser+a.Tighter), cmp.Compare(a.Name, b.Name))
	})
	r.Users = append([]*User{}, r.Users...)
	r.NotRecomputed = counts(t.unknown)
	return r
}

// sorted returns the changes: those that loosen first, and then by count.
func sorted(all map[changeKey]*Change) []*Change {
	return append([]*Change{}, slices.SortedFunc(maps.Values(all), func(a, b *Change) int {
		loosens := func(c *Change) int {
			if c.Looser {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(loosens(a), loosens(b)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Origin, b.Origin),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), a.Starts.Compare(b.Starts),
			cmp.Compare(a.FromApprovers, b.FromApprovers), cmp.Compare(a.ToApprovers, b.ToApprovers))
	})...)
}

// addReason counts a reason. Beyond maxGroups all count together: a record may have any text.
func addReason(all map[string]int64, reason string) {
	if _, known := all[reason]; !known && len(all) >= maxGroups {
		reason = "other reasons"
	}
	all[reason]++
}

func counts(all map[string]int64) []*Count {
	out := []*Count{}
	for reason, n := range all {
		out = append(out, &Count{reason, n})
	}
	slices.SortFunc(out, func(a, b *Count) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason)) })
	return out
}
