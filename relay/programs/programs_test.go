package programs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/supervise"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/programs"
)

// client decides by a function and counts.
type client struct {
	decide  func(ctx context.Context, start supervise.Start) programs.Decision
	denies  bool   // also what was accepted
	basis   string // the reason of the rules that ask
	asked   int
	reports int
	more    []int // the numbers that were logged
	audits  bool  // nothing is refused
}

func (c *client) Refuse(_ *hook.Call, _ supervise.Start, reason string) programs.Decision {
	d := programs.Decision{Refusal: reason, Report: func() { c.reports++ }}
	if c.audits {
		d.Refusal = ""
	}
	return d
}

// basisOf returns the basis of a decision; nil if no rule asks.
func basisOf(reason string) *policy.Basis {
	if reason == "" {
		return nil
	}
	return &policy.Basis{Unasked: reason}
}

func (c *client) More(_ *hook.Call, n int) { c.more = append(c.more, n) }

func (c *client) Again(_ context.Context, _ *hook.Call, _ supervise.Start, earlier programs.Decision) (d programs.Decision, ok bool) {
	if c.denies {
		return programs.Decision{Refusal: "a new rule"}, true
	}
	return earlier, earlier.Basis.Equal(basisOf(c.basis))
}

func (c *client) Program(ctx context.Context, _ *hook.Call, start supervise.Start) programs.Decision {
	c.asked++
	d := c.decide(ctx, start)
	if d.Report == nil && d.Refusal != "" && !d.Lasts {
		d.Report = func() { c.reports++ }
	}
	return d
}

var call = &hook.Call{SessionID: "thread", TurnID: "turn", ToolUseID: "call"}

// start returns the start of a program by a call.
func start(of supervise.Call, path string, words ...string) supervise.Start {
	return supervise.Start{Calls: []supervise.Call{of}, Programs: []supervise.Program{{
		Path: path, File: strings.Replace(path, "/bin/", "/usr/bin/", 1), Args: append([]string{"x"}, words...), Dir: "/w",
	}}}
}

// refuseAll refuses all programs whose call is not known.
var refuseAll = programs.Unknown{Decide: func(supervise.Start) programs.Decision {
	return programs.Decision{Refusal: "its call is not known"}
}}

// The answer of a person counts for the same file with the same words, and a refusal for the same name.
func TestAnswersCountForEqualStarts(t *testing.T) {
	accepts := true
	c := &client{decide: func(context.Context, supervise.Start) programs.Decision {
		d := programs.Decision{Lasts: true}
		if !accepts {
			d.Refusal = "rejected by user"
		}
		return d
	}}
	p := programs.New(refuseAll)
	of := p.Started(call, "line", c)
	for _, test := range []struct {
		path, word    string
		accepts, asks bool
	}{
		{"/bin/a", "1", true, true},
		{"/bin/a", "1", true, false},
		{"/bin/a", "2", true, true},
		{"/opt/a", "1", true, true}, // another file of the name
		{"/bin/b", "1", false, true},
		{"/opt/b", "1", false, false},
		{"/bin/b", "2", false, true},
	} {
		accepts = test.accepts
		c.asked = 0
		if got := p.Decide(t.Context(), start(of, test.path, test.word)); got != test.accepts || c.asked == 1 != test.asks {
			t.Errorf("%s %s: it may start: %v, asked %d times", test.path, test.word, got, c.asked)
		}
	}
}

// Refusals are reported once for each name and words, and the model is told of some.
func TestRefusalsAreTold(t *testing.T) {
	c := &client{decide: func(_ context.Context, s supervise.Start) programs.Decision {
		return programs.Decision{Refusal: "no " + s.Programs[0].Args[1]}
	}}
	p := programs.New(refuseAll)
	of := p.Started(call, "line", c)
	if text := p.Result(call); text != "" {
		t.Errorf("before a refusal: %q", text)
	}
	for i := range 10 {
		for _, path := range []string{"/bin/a", "/opt/a"} {
			if p.Decide(t.Context(), start(of, path, fmt.Sprint(i))) {
				t.Error("it may start")
			}
		}
	}
	if c.reports != 10 {
		t.Errorf("%d reports", c.reports)
	}
	text := p.Result(call)
	for _, want := range []string{"no 0\n", "no 7\n", "and 2 more", hook.AdviceForModel} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	if strings.Contains(text, "no 8") {
		t.Errorf("too many are named: %q", text)
	}
	if again := p.Result(call); again != "" {
		t.Errorf("told twice: %q", again)
	}
}

// The rules count again for a start that was accepted, also when no person is asked any more.
func TestAcceptedProgramIsDecidedAgain(t *testing.T) {
	c := &client{decide: func(context.Context, supervise.Start) programs.Decision { return programs.Decision{Lasts: true} }}
	p := programs.New(refuseAll)
	one := start(p.Started(call, "line", c), "/bin/a", "1")
	accepted := p.Decide(t.Context(), one)
	p.EndTurns("thread")
	if again := p.Decide(t.Context(), one); !accepted || !again || c.asked != 1 {
		t.Errorf("it starts: %v, %v; %d questions", accepted, again, c.asked)
	}
	if c.denies = true; p.Decide(t.Context(), one) {
		t.Error("it starts against a new rule")
	}
}

// An acceptance counts no more when other rules ask, and is replaced by the new answer.
func TestAcceptanceIsForItsRules(t *testing.T) {
	c := &client{basis: "a"}
	c.decide = func(ctx context.Context, _ supervise.Start) programs.Decision {
		if err := context.Cause(ctx); err != nil {
			return programs.Decision{Refusal: err.Error()}
		}
		return programs.Decision{Lasts: true, Basis: basisOf(c.basis)}
	}
	p := programs.New(refuseAll)
	one := start(p.Started(call, "line", c), "/bin/a", "1")
	for i, basis := range []string{"a", "a", "b", "b"} {
		c.basis = basis
		if want := 1 + i/2; !p.Decide(t.Context(), one) || c.asked != want {
			t.Errorf("%d: %d questions, want %d", i, c.asked, want)
		}
	}
	c.basis = "c"
	if p.EndTurns("thread"); p.Decide(t.Context(), one) {
		t.Error("it starts after the turn by rules that no person has answered")
	}
}

// A no of a person replaces an earlier yes about the same start, also when the rules of that yes count again.
func TestRefusalReplacesAcceptance(t *testing.T) {
	c := &client{basis: "a"}
	c.decide = func(context.Context, supervise.Start) programs.Decision {
		if c.basis == "b" {
			return programs.Decision{Lasts: true, Refusal: "the user refused it"}
		}
		return programs.Decision{Lasts: true, Basis: basisOf(c.basis)}
	}
	p := programs.New(refuseAll)
	one := start(p.Started(call, "line", c), "/bin/a", "1")
	for i, basis := range []string{"a", "b", "b", "a"} {
		c.basis = basis
		if starts := p.Decide(t.Context(), one); starts != (i == 0) || c.asked > 2 {
			t.Errorf("%d: it starts: %v, %d questions", i, starts, c.asked)
		}
	}
}

// When its turn ends, no person is asked about the programs of a call, and the programs of another turn are not
// concerned.
func TestNoQuestionAfterTheTurn(t *testing.T) {
	c := &client{decide: func(ctx context.Context, _ supervise.Start) programs.Decision {
		if err := context.Cause(ctx); err != nil {
			return programs.Decision{Refusal: err.Error()}
		}
		return programs.Decision{Lasts: true}
	}}
	p := programs.New(refuseAll)
	of := p.Started(call, "line", c)
	p.EndTurns("thread", "other")
	if !p.Decide(t.Context(), start(of, "/bin/a", "1")) {
		t.Error("the end of another turn counts")
	}
	p.EndTurns("thread", "turn")
	if p.Decide(t.Context(), start(of, "/bin/a", "2")) {
		t.Error("it starts after the turn")
	}
	if text := p.Result(call); !strings.Contains(text, programs.ErrTurnEnded.Error()) {
		t.Errorf("the model reads %q", text)
	}
}

// A program that may belong to several calls, or to none that is known, starts only if each decision lets it.
func TestUnknownCalls(t *testing.T) {
	yes := &client{decide: func(context.Context, supervise.Start) programs.Decision { return programs.Decision{} }}
	no := &client{decide: func(context.Context, supervise.Start) programs.Decision { return programs.Decision{Refusal: "no"} }}
	p := programs.New(refuseAll)
	a := p.Started(call, "line", yes)
	b := p.Started(&hook.Call{SessionID: "other", TurnID: "turn", ToolUseID: "call"}, "line", no)
	one := start(a, "/bin/a", "1")
	if !p.Decide(t.Context(), one) {
		t.Error("control: it does not start")
	}
	one.Calls = []supervise.Call{a, b}
	if p.Decide(t.Context(), one) {
		t.Error("it starts although one call forbids it")
	}
	one.Calls = nil
	if p.Decide(t.Context(), one) {
		t.Error("it starts without a call")
	}
	one.Calls = []supervise.Call{{Thread: "thread", Turn: "turn", ID: "other"}}
	if p.Decide(t.Context(), one) {
		t.Error("it starts for a call that was not announced")
	}
}

// An answer counts for no other program: not for one whose words are cut, or no UTF-8, and not if it is unknown what
// starts.
func TestAnswersAreForOneProgram(t *testing.T) {
	of := supervise.Call{Thread: "thread", Turn: "turn", ID: "call"}
	long := strings.Repeat("x", 2000)
	unreadable, noFile := start(of, "/bin/a", "1"), start(of, "/bin/a", "1")
	unreadable.Programs, unreadable.Unreadable = nil, "its memory can't be read"
	noFile.Programs[0].File = ""
	for name, test := range map[string]struct {
		a, b supervise.Start
		same bool
	}{
		"control":       {start(of, "/bin/a", "1"), start(of, "/bin/a", "1"), true},
		"a long word":   {start(of, "/bin/a", long+"1"), start(of, "/bin/a", long+"2"), false},
		"no UTF-8":      {start(of, "/bin/a", "\xff"), start(of, "/bin/a", "\xfe"), false},
		"joined words":  {start(of, "/bin/a", "1 2"), start(of, "/bin/a", "1", "2"), false},
		"unreadable":    {unreadable, unreadable, false},
		"unknown file":  {noFile, noFile, false},
		"other program": {start(of, "/bin/a", "1"), start(of, "/bin/b", "1"), false},
	} {
		c := &client{decide: func(context.Context, supervise.Start) programs.Decision { return programs.Decision{Lasts: true} }}
		p := programs.New(refuseAll)
		p.Started(call, "line", c)
		if !p.Decide(t.Context(), test.a) || !p.Decide(t.Context(), test.b) || (c.asked == 1) != test.same {
			t.Errorf("%s: %d questions", name, c.asked)
		}
		one, ok := programs.Digest(test.a)
		other, _ := programs.Digest(test.b)
		if (ok && one == other) != test.same {
			t.Errorf("%s: the digests are %q (%v) and %q", name, one, ok, other)
		}
	}
	if text := programs.Text(start(of, "/bin/a", long+"1", "a b")); text != "/bin/a "+long+"1 'a b'" {
		t.Errorf("the person sees %q", text)
	}
	if text := programs.Text(start(of, "/bin/a", strings.Repeat("x", 1<<17))); len(text) > 1<<17 || !strings.HasSuffix(text, " more bytes") {
		t.Errorf("the person sees %d bytes: %q", len(text), text[len(text)-20:])
	}
}

// Many refused programs without a call are not all reported. The number of the others is.
func TestRefusalsWithoutCallAreBounded(t *testing.T) {
	reports, more := 0, 0
	p := programs.New(programs.Unknown{
		Decide: func(supervise.Start) programs.Decision {
			return programs.Decision{Refusal: "no", Report: func() { reports++ }}
		},
		More: func(n int) { more += n },
	})
	for i := range 2000 {
		one := start(supervise.Call{}, "/bin/a", fmt.Sprint(i/2))
		if one.Calls = nil; p.Decide(t.Context(), one) {
			t.Fatal("it starts")
		}
		if i == 9 && reports != 5 {
			t.Errorf("%d reports of 5 programs", reports)
		}
	}
	if reports > 2*256 {
		t.Errorf("%d reports", reports)
	}
	if p.Close(); more < 2000-2*2*256 || more > 2000-2*256 {
		t.Errorf("%d more", more)
	}
}

// The refusals of a call that have no entry of their own are counted, and logged when the call, its turn or the bridge
// ends.
func TestMoreRefusalsAreLogged(t *testing.T) {
	for name, end := range map[string]func(*programs.Programs){
		"call": func(p *programs.Programs) { p.Result(call) }, "turn": func(p *programs.Programs) { p.EndTurns("thread", "turn") },
		"bridge": (*programs.Programs).Close,
	} {
		c := &client{decide: func(context.Context, supervise.Start) programs.Decision { return programs.Decision{Refusal: "no"} }}
		p := programs.New(refuseAll)
		of := p.Started(call, "line", c)
		refuse := func(from, to int) {
			for i := from; i < to; i++ {
				p.Decide(t.Context(), start(of, "/bin/a", fmt.Sprint(i)))
			}
		}
		refuse(0, 256)
		refuse(0, 256) // known
		if end(p); c.reports != 256 || c.more != nil {
			t.Errorf("%s: %d reports, and more: %d", name, c.reports, c.more)
		}
		if refuse(200, 300); c.reports != 256 {
			t.Errorf("%s: %d reports", name, c.reports)
		}
		end(p)
		if end(p); !slices.Equal(c.more, []int{44}) {
			t.Errorf("%s: more: %d", name, c.more)
		}
	}
}

// Of programs that are refused because too many wait, the first is logged, and the model is told. That is no decision
// about the program. Under audit they start.
func TestTooManyPrograms(t *testing.T) {
	c := &client{decide: func(context.Context, supervise.Start) programs.Decision { return programs.Decision{Refusal: "no"} }}
	unknown := 0
	p := programs.New(programs.Unknown{
		Decide: refuseAll.Decide,
		Refuse: func(_ supervise.Start, reason string) programs.Decision {
			return programs.Decision{Refusal: reason, Report: func() { unknown++ }}
		},
	})
	of := p.Started(call, "line", c)
	for i := range 20 {
		if p.TooMany(start(of, "/bin/a", fmt.Sprint(i)), i == 0) {
			t.Error("it starts")
		}
	}
	if text := p.Result(call); c.reports != 1 || strings.Count(text, "too many other programs") != 1 || !strings.Contains(text, "and 19 more") {
		t.Errorf("%d reports; the model reads %q", c.reports, text)
	}
	if p.Decide(t.Context(), start(of, "/bin/a", "7")); c.reports != 2 {
		t.Errorf("a refusal by a rule has no report")
	}
	one := start(of, "/bin/a", "x")
	if one.Calls = nil; p.TooMany(one, true) || unknown != 1 {
		t.Errorf("without a call: %d reports", unknown)
	}
	if c.audits = true; !p.TooMany(start(of, "/bin/a", "y"), true) {
		t.Error("it does not start under audit")
	}
}
