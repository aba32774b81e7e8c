package store_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge/store"

	"github.com/google/go-cmp/cmp"
)

func testBinding(n int, thread string) store.Binding {
	return store.Binding{
		Session: fmt.Sprint("s", n), Thread: thread, Record: `{"threadId":"` + thread + `"}`, Action: "started", Reason: "notBound", PreviousThread: "x", Mode: "cron",
		Updated: noon.Add(time.Duration(n) * time.Minute).UTC().Truncate(time.Microsecond),
	}
}

func TestBindings(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s, other := open(t, o), open(t, o)
		put := func(b store.Binding) {
			t.Helper()
			if err := s.PutBinding(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		check := func(step string, want ...store.Binding) {
			t.Helper()
			all, err := other.Bindings(t.Context(), 9)
			if diff := cmp.Diff(want, all); diff != "" || err != nil {
				t.Errorf("%s: %v %s", step, err, diff)
			}
		}
		put(testBinding(0, "a"))
		put(testBinding(1, "b"))
		check("two sessions", testBinding(1, "b"), testBinding(0, "a"))
		again := testBinding(0, "c")
		again.Updated = noon.Add(time.Hour).UTC().Truncate(time.Microsecond)
		put(again)
		check("one session, one thread", again, testBinding(1, "b"))
		rest, err := other.BindingsAfter(t.Context(), again.Updated, again.Session, 9)
		if diff := cmp.Diff([]store.Binding{testBinding(1, "b")}, rest); diff != "" || err != nil {
			t.Errorf("after the first: %v %s", err, diff)
		}
		if rest, err = other.BindingsAfter(t.Context(), testBinding(1, "").Updated, "s0", 9); len(rest) != 1 || err != nil {
			t.Errorf("after one of the same time: %v, %v", rest, err)
		}
		if rest, err = other.BindingsAfter(t.Context(), testBinding(1, "").Updated, "s1", 9); len(rest) != 0 || err != nil {
			t.Errorf("after the last: %v, %v", rest, err)
		}
		if n, aside, err := other.CountBindings(t.Context()); n != 2 || aside != 0 || err != nil {
			t.Error(n, aside, err)
		}
		late := testBinding(0, "d")
		if was, err := s.ReplaceBinding(t.Context(), late, "a"); was || err != nil {
			t.Error("the binding to another thread was replaced", err)
		}
		again.Reason, again.Mode = "other", "user"
		if was, err := s.ReplaceBinding(t.Context(), again, "c"); !was || err != nil {
			t.Error(was, err)
		}
		check("changed", again, testBinding(1, "b"))
		for thread, want := range map[string]string{"b": "s1", "c": "s0", "a": ""} {
			b, found, err := other.BindingByThread(t.Context(), thread)
			if b.Session != want || found != (want != "") || err != nil {
				t.Errorf("thread %s: session %q, %v, %v", thread, b.Session, found, err)
			}
		}
		if was, err := s.DeleteBinding(t.Context(), "s0", "a"); was || err != nil {
			t.Error("the binding to another thread was deleted", err)
		}
		if was, err := s.DeleteBinding(t.Context(), "s0", "c"); !was || err != nil {
			t.Error(was, err)
		}
		if was, err := s.DeleteBinding(t.Context(), "s0", ""); was || err != nil {
			t.Error(was, err)
		}
		check("one is cleared", testBinding(1, "b"))
		if err := s.MoveUnreadableBinding(t.Context(), testBinding(1, "b"), noon); err != nil {
			t.Fatal(err)
		}
		if _, found, err := other.BindingBySession(t.Context(), "s1"); found || err != nil {
			t.Error("the unreadable binding is still there", err)
		}
		if n, aside, err := other.CountBindings(t.Context()); n != 0 || aside != 1 || err != nil {
			t.Error(n, aside, err)
		}
		if err := s.PutBinding(t.Context(), store.Binding{Session: "a\x00", Thread: "t", Record: "{}", Updated: noon}); err == nil {
			t.Error("PutBinding accepted a key with a NUL")
		}
	})
}

// endedProcess returns the id of a process that has ended and was reaped.
func endedProcess(t *testing.T) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestLeases(t *testing.T) {
	here, err := store.CurrentProcess()
	if err != nil {
		t.Fatal(err)
	}
	rebooted, crashed, parent, away := here, here, here, here
	rebooted.Started = "before:" + here.Started
	crashed.PID, crashed.Started = endedProcess(t), "x"
	away.Host = "another machine"
	parent.PID = os.Getppid()
	if parent.Started, err = store.ProcessStart(parent.PID); err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, o store.Options) {
		s, other := open(t, o), open(t, o)
		for name, c := range map[string]struct {
			before store.Holder
			held   bool
		}{
			"ours": {here, false}, "rebooted": {rebooted, false}, "crashed": {crashed, false}, "parent": {parent, true}, "away": {away, true},
		} {
			if err := s.AcquireLease(t.Context(), name, c.before, noon); err != nil {
				t.Fatal(err)
			}
			err := other.AcquireLease(t.Context(), name, here, noon.Add(time.Minute))
			var held *store.HeldError
			if errors.As(err, &held) != c.held || (err != nil) != c.held {
				t.Errorf("%s: %v", name, err)
			}
			if held != nil && (held.Holder.PID != c.before.PID || !strings.Contains(err.Error(), fmt.Sprint(c.before.PID))) {
				t.Errorf("%s: the holder is %v: %v", name, held.Holder, err)
			}
			_, found, err := other.ActiveLeaseHolder(t.Context(), name, here)
			if err != nil || !found {
				t.Errorf("%s: no holder: %v", name, err)
			}
		}
		if err := s.ReleaseLease(t.Context(), "parent", here); err != nil {
			t.Fatal(err)
		}
		if _, found, err := s.LeaseHolder(t.Context(), "parent"); !found || err != nil {
			t.Error("ReleaseLease deleted the lease of another process", err)
		}
		if err := s.DeleteLease(t.Context(), "away"); err != nil {
			t.Fatal(err)
		}
		if err := s.ReleaseLeases(t.Context(), []string{"ours", "rebooted", "parent"}, here); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"ours": false, "rebooted": false, "away": false, "parent": true} {
			if _, found, err := s.LeaseHolder(t.Context(), name); found != want || err != nil {
				t.Errorf("%s: found %v, %v", name, found, err)
			}
		}
	})
}

// If several processes want a lease at once, one gets it.
func TestOneProcessGetsLease(t *testing.T) {
	here, err := store.CurrentProcess()
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, o store.Options) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := 0
		for i := range 8 {
			wg.Go(func() {
				s, err := store.Open(t.Context(), o)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				h := here
				h.Host = fmt.Sprint("machine ", i)
				err = s.AcquireLease(t.Context(), "s", h, noon)
				var held *store.HeldError
				if err != nil && !errors.As(err, &held) {
					t.Error(err)
				}
				if err == nil {
					mu.Lock()
					got++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if got != 1 {
			t.Errorf("%d processes have the lease, want 1", got)
		}
	})
}

// An unreadable table is an error. It does not count as empty.
func TestBindingsWithoutTable(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		for _, table := range []string{"bindings", "unreadable_bindings", "leases"} {
			execSQL(t, s.DB(), "DROP TABLE "+table)
		}
		fails := func(name string, err error) {
			t.Helper()
			if err == nil {
				t.Errorf("%s returned no error without its table", name)
			}
		}
		_, _, err := s.BindingBySession(t.Context(), "s")
		fails("BindingOf", err)
		_, _, err = s.BindingByThread(t.Context(), "s")
		fails("BindingTo", err)
		_, err = s.Bindings(t.Context(), 1)
		fails("Bindings", err)
		_, _, err = s.CountBindings(t.Context())
		fails("CountBindings", err)
		_, err = s.DeleteBinding(t.Context(), "s", "")
		fails("ClearBinding", err)
		fails("PutBinding", s.PutBinding(t.Context(), testBinding(0, "a")))
		_, err = s.ReplaceBinding(t.Context(), testBinding(0, "a"), "a")
		fails("ChangeBinding", err)
		fails("SetAside", s.MoveUnreadableBinding(t.Context(), testBinding(0, "a"), noon))
		fails("Take", s.AcquireLease(t.Context(), "s", store.Holder{}, noon))
		fails("ReleaseLease", s.ReleaseLease(t.Context(), "s", store.Holder{}))
		fails("ReleaseLeases", s.ReleaseLeases(t.Context(), []string{"s"}, store.Holder{}))
	})
}
