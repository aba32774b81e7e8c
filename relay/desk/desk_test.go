package desk_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/relay/desk"
)

// person has an SSH key.
type person struct{ ssh.Signer }

func newPerson(t *testing.T) person {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return person{signer}
}

func (p person) public() string { return string(ssh.MarshalAuthorizedKey(p.PublicKey())) }

func (p person) fingerprint() string { return ssh.FingerprintSHA256(p.PublicKey()) }

// answer signs a decision, also one that desk.SignDecision refuses to sign.
func (p person) answer(t *testing.T, r desk.Request, d desk.Decision) decision.DeskAnswer {
	t.Helper()
	return p.answerIn(t, r, d, desk.Namespace)
}

func (p person) answerIn(t *testing.T, r desk.Request, d desk.Decision, namespace string) decision.DeskAnswer {
	t.Helper()
	statement, err := r.Statement(d)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := sshsig.Sign(strings.NewReader(statement), p, sshsig.HashSHA512, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return decision.DeskAnswer{Decision: string(d), Signature: string(sshsig.Armor(sig))}
}

// world has a desk whose store and clock the test controls.
type world struct {
	t                           *testing.T
	runner, ada, grace, unknown person
	cfg                         config.Desk
	now                         time.Time
	request                     desk.Request // the one that waits
	answers                     []decision.DeskAnswer
	steps                       []func() // before each look at the answers, after the first
	added, ended                int
	accepted                    []string
	storeErr, acceptErr         error
	secrets                     map[string]string
	posted                      chan decision.DeskAnswer // by the webhook
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, runner: newPerson(t), ada: newPerson(t), grace: newPerson(t), unknown: newPerson(t), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), posted: make(chan decision.DeskAnswer, 9)}
	w.cfg = config.Desk{Runner: []string{w.runner.public()}, Timeout: config.Duration(10 * time.Minute), Groups: map[string]config.Group{
		"release": {Keys: []string{w.grace.public(), w.runner.public()}}, "security": {Keys: []string{w.ada.public(), w.grace.public()}}, "self": {Keys: []string{w.runner.public()}},
	}}
	return w
}

func (w *world) AddDeskRequest(_ context.Context, r decision.DeskRequest, _ time.Time) error {
	if w.storeErr != nil {
		return w.storeErr
	}
	var err error
	if w.request, err = desk.Decode(r.Text); err != nil || w.request.ID != r.ID || !w.request.Expires.Equal(r.Expires) {
		w.t.Errorf("%+v, %v", r, err)
	}
	w.added++
	return nil
}

func (w *world) DeskAnswers(_ context.Context, id string) ([]decision.DeskAnswer, error) {
	if id != w.request.ID {
		w.t.Errorf("the answers of %s", id)
	}
	return w.answers, nil
}

func (w *world) AddDeskAnswer(_ context.Context, id string, a decision.DeskAnswer) error {
	if id != w.request.ID {
		w.t.Errorf("an answer to %s", id)
	}
	w.posted <- a
	return nil
}

func (w *world) EndDeskRequest(context.Context, string) error {
	w.ended++
	return nil
}

// ask asks the desk about a command of a thread. The steps run one by one; after the last the client goes.
func (w *world) ask(r desk.Request, steps ...func()) error {
	w.t.Helper()
	w.answers, w.steps = nil, steps
	ctx, stop := context.WithCancelCause(w.t.Context())
	return desk.New(desk.Options{
		Config: func() config.Desk { return w.cfg },
		Store:  func(context.Context) (desk.Store, error) { return w, nil },
		Accept: func(_ context.Context, _ desk.Request, reason string) error {
			w.accepted = append(w.accepted, reason)
			return w.acceptErr
		},
		Secret: func(name string) string { return w.secrets[name] },
		Now:    func() time.Time { return w.now },
		Wait: func(context.Context) {
			if len(w.steps) == 0 {
				stop(errors.New("the turn has ended"))
				return
			}
			step := w.steps[0]
			w.steps = w.steps[1:]
			step()
		},
		Log: slog.New(slog.DiscardHandler),
	}).Ask(ctx, r)
}

func (w *world) put(a decision.DeskAnswer) { w.answers = append(w.answers, a) }

var push = desk.Request{
	Groups: []string{"release"}, Rule: "Two people push.", Thread: "t", Turn: "u", Item: "i", Command: "git push", Input: "00", Cwd: "/code", Sandbox: "workspace-write",
}

// check fails unless the error has a text; "" for no error.
func (w *world) check(what string, err error, want string) {
	w.t.Helper()
	switch {
	case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		w.t.Errorf("%s: %v, not %q", what, err, want)
	case want != "" && w.acceptErr == nil && len(w.accepted) > 0:
		w.t.Errorf("%s: logged %q", what, w.accepted)
	}
}

// The comments of the keys name the approvers, in quotes if they could be read as more than a name. Another
// configuration than that of the bridge tells the same, without the person who runs the bridge.
func TestApproversAreNamed(t *testing.T) {
	w := newWorld(t)
	w.cfg.Groups["release"] = config.Group{Keys: []string{
		strings.TrimSpace(w.grace.public()) + " grace@example", strings.TrimSpace(w.ada.public()) + " ada) and SHA256:x (bob", w.runner.public(),
	}}
	two := push
	two.Counts = map[string]int{"release": 2}
	grace, ada := w.grace.fingerprint()+" (grace@example)", w.ada.fingerprint()+` ("ada) and SHA256:x (bob")`
	w.check("approved", w.ask(two, func() {
		w.put(w.runner.answer(t, w.request, desk.Approve))
		w.put(w.grace.answer(t, w.request, desk.Approve))
		p, problem, err := desk.ProgressOf(w.cfg.Groups, w.request, w.answers)
		if err != nil || problem != nil || len(p.Approved) != 1 || p.Approved[0].String() != "release: "+grace || config.JoinQuorums(p.Missing, ", ") != "release" {
			t.Errorf("after one of two: %+v, %v, %v", p, problem, err)
		}
		if _, problem, err := desk.ProgressOf(w.cfg.Groups, w.request, w.answers[:1]); err != nil || problem == nil {
			t.Errorf("the runner's answer: %v, %v", problem, err)
		}
		if _, _, err := desk.ProgressOf(nil, w.request, w.answers); err == nil {
			t.Error("a configuration without the group knows who has approved")
		}
		w.put(w.ada.answer(t, w.request, desk.Approve))
	}), "")
	if want := "approved by release: " + grace + " and " + ada + "; request " + w.request.ID; !slices.Equal(w.accepted, []string{want}) {
		t.Errorf("logged %q, want %q", w.accepted, want)
	}
	w.accepted = nil
	w.check("declined", w.ask(two, func() { w.put(w.grace.answer(t, w.request, desk.Decline)) }), "an approver, "+grace+", has declined")
}

func TestMemberApproves(t *testing.T) {
	w := newWorld(t)
	w.check("approved", w.ask(push, func() {}, func() { w.put(w.grace.answer(t, w.request, desk.Approve)) }), "")
	if want := "approved by release: " + w.grace.fingerprint() + "; request " + w.request.ID; !slices.Equal(w.accepted, []string{want}) {
		t.Errorf("logged %q", w.accepted)
	}
	if w.added != 1 || w.ended != 1 || !slices.Equal(w.request.Runner, []string{w.runner.fingerprint()}) || w.request.Expires.Sub(w.request.Created) != 10*time.Minute {
		t.Errorf("%d added, %d ended, %+v", w.added, w.ended, w.request)
	}
}

// An answer counts for the request that it was signed for, in its time, with the key of another member.
func TestAttacks(t *testing.T) {
	const gone = "the turn has ended"
	for name, test := range map[string]struct {
		answer func(t *testing.T, w *world) decision.DeskAnswer
		want   string
	}{
		"self-approval": {func(t *testing.T, w *world) decision.DeskAnswer {
			return w.runner.answer(t, w.request, desk.Approve)
		}, gone},
		"no member": {func(t *testing.T, w *world) decision.DeskAnswer {
			return w.unknown.answer(t, w.request, desk.Approve)
		}, gone},
		"member of others": {func(t *testing.T, w *world) decision.DeskAnswer {
			return w.ada.answer(t, w.request, desk.Approve)
		}, gone},
		"no signature": {func(t *testing.T, w *world) decision.DeskAnswer { return decision.DeskAnswer{Decision: "approve"} }, gone},
		"another namespace": {func(t *testing.T, w *world) decision.DeskAnswer {
			return w.grace.answerIn(t, w.request, desk.Approve, "file")
		}, gone},
		"another command":      {other(func(r *desk.Request) { r.Command = "git push --force" }), gone},
		"another input":        {other(func(r *desk.Request) { r.Input = "01" }), gone},
		"another folder":       {other(func(r *desk.Request) { r.Cwd = "/" }), gone},
		"another thread":       {other(func(r *desk.Request) { r.Thread = "v" }), gone},
		"another turn":         {other(func(r *desk.Request) { r.Turn = "v" }), gone},
		"another call":         {other(func(r *desk.Request) { r.Item = "j" }), gone},
		"inside, then outside": {other(func(r *desk.Request) { r.Outside = true }), gone},
		"another request":      {other(func(r *desk.Request) { r.ID = "x" }), gone},
		"a longer time":        {other(func(r *desk.Request) { r.Expires = r.Expires.Add(time.Hour) }), gone},
		"another runner":       {other(func(r *desk.Request) { r.Runner = nil }), gone},
		"a decline as approval": {func(t *testing.T, w *world) decision.DeskAnswer {
			a := w.grace.answer(t, w.request, desk.Decline)
			a.Decision = "approve"
			return a
		}, gone},
		"an unknown decision": {func(t *testing.T, w *world) decision.DeskAnswer { return w.grace.answer(t, w.request, "maybe") }, gone},
		"forged": {func(t *testing.T, w *world) decision.DeskAnswer {
			a := w.unknown.answer(t, w.request, desk.Approve)
			sig, err := sshsig.Unarmor([]byte(a.Signature))
			if err != nil {
				t.Fatal(err)
			}
			sig.PublicKey = w.grace.PublicKey()
			return decision.DeskAnswer{Decision: a.Decision, Signature: string(sshsig.Armor(sig))}
		}, gone},
		"too late": {func(t *testing.T, w *world) decision.DeskAnswer {
			w.now = w.request.Expires
			return w.grace.answer(t, w.request, desk.Approve)
		}, "no approver has answered in time"},
		"no longer a member": {func(t *testing.T, w *world) decision.DeskAnswer {
			w.cfg.Groups = map[string]config.Group{"release": {Keys: []string{w.ada.public()}}}
			return w.grace.answer(t, w.request, desk.Approve)
		}, gone},
		"the runner by now": {func(t *testing.T, w *world) decision.DeskAnswer {
			w.cfg.Runner = append(w.cfg.Runner, w.grace.public())
			return w.grace.answer(t, w.request, desk.Approve)
		}, "no member beside the person"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.check(name, w.ask(push, func() { w.put(test.answer(t, w)) }), test.want)
			if w.added != w.ended {
				t.Errorf("%d requests added, %d ended", w.added, w.ended)
			}
		})
	}
}

// other has grace approve a request that differs from the one that waits.
func other(change func(*desk.Request)) func(*testing.T, *world) decision.DeskAnswer {
	return func(t *testing.T, w *world) decision.DeskAnswer {
		r := w.request
		change(&r)
		return w.grace.answer(t, r, desk.Approve)
	}
}

// An answer can't be used again for an equal command.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	var once decision.DeskAnswer
	w.check("first", w.ask(push, func() { once = w.grace.answer(t, w.request, desk.Approve); w.put(once) }), "")
	w.accepted = nil
	w.check("again", w.ask(push, func() { w.put(once) }), "the turn has ended")
}

func TestEachGroupApproves(t *testing.T) {
	both := push
	both.Groups = []string{"release", "security"}
	for name, test := range map[string]struct {
		by   func(w *world) []person
		want string
	}{
		"one of each":    {func(w *world) []person { return []person{w.ada, w.grace} }, ""},
		"one in both":    {func(w *world) []person { return []person{w.grace} }, ""},
		"one of one":     {func(w *world) []person { return []person{w.ada} }, "the turn has ended"},
		"the same twice": {func(w *world) []person { return []person{w.ada, w.ada} }, "the turn has ended"},
	} {
		w := newWorld(t)
		w.check(name, w.ask(both, func() {
			for _, p := range test.by(w) {
				w.put(p.answer(t, w.request, desk.Approve))
			}
		}), test.want)
	}
	w := newWorld(t)
	w.check("a decline wins", w.ask(both, func() {
		w.put(w.ada.answer(t, w.request, desk.Decline))
		w.put(w.grace.answer(t, w.request, desk.Approve))
	}), "has declined")
}

// A rule can need several members of a group. Each key counts once, however often it signs, and never that of the
// person who runs the bridge. One decline is enough.
func TestCountOfApprovers(t *testing.T) {
	for name, test := range map[string]struct {
		by   func(w *world) []person
		want string
	}{
		"two":                       {func(w *world) []person { return []person{w.ada, w.grace} }, ""},
		"one":                       {func(w *world) []person { return []person{w.ada} }, "the turn has ended"},
		"one twice":                 {func(w *world) []person { return []person{w.ada, w.ada} }, "the turn has ended"},
		"one and the runner":        {func(w *world) []person { return []person{w.ada, w.runner} }, "the turn has ended"},
		"one and a stranger":        {func(w *world) []person { return []person{w.ada, w.unknown} }, "the turn has ended"},
		"one, twice, and the other": {func(w *world) []person { return []person{w.grace, w.grace, w.ada} }, ""},
	} {
		w := newWorld(t)
		two := push
		two.Groups = nil
		two.Need([]config.Quorum{{Group: "pair", Count: 2}})
		w.cfg.Groups["pair"] = config.Group{Keys: []string{w.ada.public(), w.grace.public(), w.ada.public(), w.runner.public()}}
		var steps []func()
		for i := range test.by(w) {
			steps = append(steps, func() { w.put(test.by(w)[i].answer(t, w.request, desk.Approve)) })
		}
		w.check(name, w.ask(two, steps...), test.want)
		if test.want == "" && !strings.Contains(w.accepted[0], w.ada.fingerprint()) || len(w.accepted) > 0 && !strings.Contains(w.accepted[0], " and ") {
			t.Errorf("%s: logged %q", name, w.accepted)
		}
	}
	w := newWorld(t)
	two := push
	two.Counts = map[string]int{"release": 2}
	w.check("too few members", w.ask(two), `2 members of the group "release" must approve, and it has 1 beside the person who runs the bridge`)
	w.cfg.Groups["release"] = config.Group{Keys: []string{w.ada.public(), w.grace.public()}}
	w.check("a decline", w.ask(two, func() { w.put(w.ada.answer(t, w.request, desk.Approve)) }, func() { w.put(w.grace.answer(t, w.request, desk.Decline)) }), "has declined")
	w.check("an approval of fewer", w.ask(two, func() {
		fewer := w.request
		fewer.Counts = nil
		w.put(w.ada.answer(t, fewer, desk.Approve))
		w.put(w.grace.answer(t, w.request, desk.Approve))
	}), "the turn has ended")
}

// Each failure is a no, before a request is shown to an approver if possible.
func TestFailures(t *testing.T) {
	approves := func(w *world) func() {
		return func() { w.put(w.grace.answer(t, w.request, desk.Approve)) }
	}
	for name, test := range map[string]struct {
		change func(w *world, r *desk.Request)
		want   string
	}{
		"no runner":        {func(w *world, _ *desk.Request) { w.cfg.Runner = nil }, "set approvals.desk.runner"},
		"a broken runner":  {func(w *world, _ *desk.Request) { w.cfg.Runner = []string{"x"} }, "approvals.desk.runner"},
		"no group":         {func(_ *world, r *desk.Request) { r.Groups = nil }, "no group"},
		"an unknown group": {func(_ *world, r *desk.Request) { r.Groups = []string{"x"} }, "no member"},
		"only the runner":  {func(_ *world, r *desk.Request) { r.Groups = []string{"self"} }, "no member"},
		"a broken group": {func(w *world, r *desk.Request) {
			w.cfg.Groups["x"], r.Groups = config.Group{Keys: []string{"ssh-rsa AAAA"}}, []string{"x"}
		}, "approvals.desk.groups.x"},
		"text that is not UTF-8": {func(_ *world, r *desk.Request) { r.Command = "rm \xff" }, "not valid UTF-8"},
		"a broken store":         {func(w *world, _ *desk.Request) { w.storeErr = errors.New("disk full") }, "disk full"},
	} {
		w := newWorld(t)
		r := push
		test.change(w, &r)
		w.check(name, w.ask(r, approves(w)), test.want)
		if w.added > 0 {
			t.Errorf("%s: the request was written", name)
		}
	}
	w := newWorld(t)
	w.acceptErr = errors.New("disk full")
	w.check("not logged", w.ask(push, approves(w)), "can't be written to the decision log: disk full")
}

// The tool of an approver signs only what the bridge wrote, and not for the person who runs the bridge.
func TestSign(t *testing.T) {
	w := newWorld(t)
	w.check("approved", w.ask(push, func() {
		armored, err := desk.SignDecision(w.request, desk.Approve, w.grace)
		if err != nil {
			t.Fatal(err)
		}
		w.put(decision.DeskAnswer{Decision: "approve", Signature: armored})
		if _, err := desk.SignDecision(w.request, desk.Approve, w.runner); err == nil || !strings.Contains(err.Error(), "can't be the second person") {
			t.Error(err)
		}
	}), "")
	for _, text := range []string{"", "{}", `{"id":"x","more":1}`} {
		if _, err := desk.Decode(text); err == nil {
			t.Errorf("%s is a request", text)
		}
	}
}

// A signature that counts with no configuration of the bridge is known before it is sent.
func TestCheckSignature(t *testing.T) {
	w := newWorld(t)
	w.request.Runner = []string{w.runner.fingerprint()}
	check := func(name string, a decision.DeskAnswer, d desk.Decision, want string) {
		t.Helper()
		err := desk.CheckSignature(w.request, d, a.Signature)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stranger := newPerson(t)
	check("a member", w.grace.answer(t, w.request, desk.Approve), desk.Approve, "")
	check("a key of no group here", stranger.answer(t, w.request, desk.Approve), desk.Approve, "")
	check("another decision", w.grace.answer(t, w.request, desk.Approve), desk.Decline, "not of this decision")
	check("another namespace", w.grace.answerIn(t, w.request, desk.Approve, "file"), desk.Approve, "not of this decision")
	check("no signature", decision.DeskAnswer{Signature: "x"}, desk.Approve, "can't be read")
	check("the person who runs the bridge", w.runner.answer(t, w.request, desk.Approve), desk.Approve, "can't be the second person")
	request := w.request
	request.Command += " more"
	check("another request", w.grace.answer(t, request, desk.Approve), desk.Approve, "not of this decision")
}
