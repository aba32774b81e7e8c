package threads

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/rpc"
)

// A session has one open thread: the one that was put or bound last.
func TestSessionHasOneOpenThread(t *testing.T) {
	var k known
	if k.any() || k.anyBound() {
		t.Error("threads before the first one")
	}
	k.put("A", thread{session: "s"})
	k.put("B", thread{session: "s"})
	if a, _ := k.get("A"); a.session != "" {
		t.Errorf("A still has the session %q", a.session)
	}
	k.bind("A", "s", params.Trigger("cron"))
	a, _ := k.get("A")
	b, _ := k.get("B")
	if a.session != "s" || a.trigger != "cron" || b.session != "" {
		t.Errorf("A has %q and the trigger %q, B has %q", a.session, a.trigger, b.session)
	}
	if k.unbind("s"); k.anyBound() || !k.any() {
		t.Error("a thread without a session counts as bound, or not as open")
	}
	k.forget("A")
	if k.forget("B"); k.any() || len(k.all()) != 0 {
		t.Error("forgotten threads count")
	}
}

// A thread that is opened again keeps what its turns have set.
func TestReopenedThreadKeepsItsState(t *testing.T) {
	first := thread{session: "s", trigger: "cron", fresh: true, bootstrapped: true, model: "old", excluded: setting.Excluded{Tmpdir: true}}
	var k known
	k.put("A", first)
	k.put("A", thread{model: "new", excluded: setting.Excluded{Tmpdir: true, SlashTmp: true}})
	got, _ := k.get("A")
	want := first
	want.model = "new"
	if want.excluded = want.excluded.And(setting.Excluded{Tmpdir: true, SlashTmp: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	k.put("A", thread{session: "other"})
	if got, _ := k.get("A"); got.session != "other" || got.bootstrapped {
		t.Errorf("another session: %+v", got)
	}
}

// Only open threads are bound and changed.
func TestUnknownThreadIsNotChanged(t *testing.T) {
	var k known
	k.bind("A", "s", "")
	k.change("A", func(*thread) { t.Error("changed") })
	if _, ok := k.get("A"); ok || k.any() {
		t.Error("the thread is known")
	}
	k.put("B", thread{})
	k.put("A", thread{})
	if k.change("A", func(a *thread) { a.session = "s" }); !k.anyBound() || !slices.Equal(k.all(), []string{"A", "B"}) {
		t.Errorf("bound: %v, open: %v", k.anyBound(), k.all())
	}
}

// A thread is too large from the configured size on. A missing file and no limit never are.
func TestTooLargeThread(t *testing.T) {
	for _, c := range []struct {
		limit, size int64
		id          string
		err         error
		want        bool
	}{
		{0, 99, "A", nil, false}, {100, 99, "A", nil, false}, {100, 100, "A", nil, true},
		{100, 100, "", nil, false}, {100, 100, "A", errors.New("no file"), false},
	} {
		f := New(Options{
			Thread: func() config.Thread { return config.Thread{MaxRollout: config.Size(c.limit)} },
			Size:   func(string) (int64, error) { return c.size, c.err },
		})
		if got := f.TooLarge(c.id); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Replace holds for the thread that it names, until it is undone.
func TestReplacementReason(t *testing.T) {
	f := New(Options{})
	undo := f.Replace("s", "A", binding.ReasonUnchanged)
	for _, c := range []struct {
		session, thread string
		want            binding.Reason
	}{{"s", "A", binding.ReasonUnchanged}, {"s", "B", ""}, {"s", "", ""}, {"t", "A", ""}} {
		if got := f.replacementReason(c.session, c.thread); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if undo(); f.replacementReason("s", "A") != "" {
		t.Error("it holds after undo")
	}
}

// The parts of a response that a binding needs, and its error.
func TestThreadResponse(t *testing.T) {
	parse := func(text string) *rpc.Envelope {
		e, err := rpc.ParseEnvelope([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	ok := parse(`{"id":1,"result":{"thread":{"id":"A"},"model":"m","modelProvider":"p"}}`)
	if got := threadResponse(ok); got != (binding.ThreadResponse{Thread: "A", Model: "m", ModelProvider: "p"}) || responseError(ok) != nil {
		t.Errorf("%+v, %v", got, responseError(ok))
	}
	for text, want := range map[string]string{
		`{"id":1,"error":{"code":-32600,"message":"no rollout found"}}`: "no rollout found",
		`{"id":1,"error":7}`: "can't be read",
	} {
		if got := responseError(parse(text)); got == nil || !strings.Contains(got.Message, want) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// The limits of a thread are those with a name.
func TestEffectiveLimits(t *testing.T) {
	for text, want := range map[string][2]string{
		`{"approvalPolicy":"never","sandbox":{"type":"readOnly"}}`:                         {"never", setting.ReadOnly},
		`{"approvalPolicy":"on-request","sandbox":{"type":"workspaceWrite"}}`:              {"on-request", setting.WorkspaceWrite},
		`{"approvalPolicy":{"granular":{}},"sandbox":{"type":"dangerFullAccess"}}`:         {"", setting.DangerFullAccess},
		`{"approvalPolicy":"never","sandbox":{"type":"externalSandbox","network":"full"}}`: {"never", setting.ThreadSandbox("externalSandbox")},
		`{}`: {},
	} {
		doc, err := rpc.ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if approval, sandbox := effectiveLimits(doc.Root(), "sandbox"); approval != want[0] || sandbox != want[1] {
			t.Errorf("%s: %q, %q", text, approval, sandbox)
		}
	}
}

// A fork keeps the sandbox that the request names.
func TestNamesSandbox(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: false, `{"sandbox":null}`: false, `{"sandbox":"read-only"}`: true, `{"permissions":":workspace"}`: true, `{"model":"m"}`: false,
	} {
		doc, err := rpc.ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := namesSandbox(doc.Root()); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A page has a limit of at least one and a cursor of an earlier page.
func TestReadPageErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"limit":0}`: "limit", `{"limit":-1}`: "limit", `{"limit":"x"}`: "limit", `{"limit":1.5}`: "limit",
		`{"cursor":7}`: "cursor", `{"cursor":"%"}`: "cursor", `{"cursor":"bnVsbA"}`: "cursor",
		`{"limit":null,"cursor":null}`: "", `{"limit":5000}`: "",
	} {
		doc, err := rpc.ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		p, err := readPage(doc.Root())
		switch {
		case want == "" && (err != nil || p.limit != Most || p.after != nil):
			t.Errorf("%s: %+v, %v", text, p, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", text, err)
		}
	}
}
