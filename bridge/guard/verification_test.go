package guard

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

// slowPaths stands in for a disk on which a folder does not answer until release is closed.
type slowPaths struct {
	policy.Paths
	folder  string
	once    sync.Once
	waits   chan struct{} // closed when a path in folder is resolved
	release chan struct{}
}

func (p *slowPaths) wait(path string) {
	if policy.Within(p.folder, path) {
		p.once.Do(func() { close(p.waits) })
		<-p.release
	}
}

func (p *slowPaths) Canonical(path string) (string, error) {
	p.wait(path)
	return p.Paths.Canonical(path)
}

func (p *slowPaths) Readings(path string) ([]string, error) {
	p.wait(path)
	return p.Paths.Readings(path)
}

func (p *slowPaths) Follow(path string) (string, error) {
	p.wait(path)
	return p.Paths.Follow(path)
}

const (
	openedResult    = `{"thread":{"id":"ID"},"cwd":"CWD","approvalPolicy":"on-request","approvalsReviewer":"user","model":"gpt-5.5","sandbox":SANDBOX,"activePermissionProfile":null}`
	openedSettings  = `{"cwd":"CWD","approvalPolicy":"APPROVAL","approvalsReviewer":"user","model":"gpt-5.5","sandboxPolicy":SANDBOX,"activePermissionProfile":null}`
	readOnlySandbox = `{"type":"readOnly","networkAccess":false}`
)

// open is a response that opened a read-only thread in a folder.
func (w *agentWorld) open(id, folder string) openedThread {
	w.t.Helper()
	result := strings.NewReplacer("ID", id, "CWD", folder, "SANDBOX", readOnlySandbox).Replace(openedResult)
	gated := false
	return openedThread{
		sent: &policy.SentSettings{Method: "thread/start", Workspace: folder, Gated: &gated}, result: value(w.t, result), world: w.g.world, order: 1,
	}
}

// reports are the settings that Codex reports for a read-only thread.
func (w *agentWorld) reports(folder, approval string) rpc.Value {
	w.t.Helper()
	return value(w.t, strings.NewReplacer("APPROVAL", approval, "CWD", folder, "SANDBOX", readOnlySandbox).Replace(openedSettings))
}

// newSlowWorld returns a world in which the threads slow and other are open. The folder of the first
// answers only after release is closed, or if fast is true.
func newSlowWorld(t *testing.T) (w *agentWorld, slow *slowPaths) {
	w = newAgentWorld(t, func(p *config.Policy) {
		p.Sandbox, p.Gate, p.Escalation, p.Approval = "read-only", false, "ask", []string{"on-request", "untrusted"}
	})
	for _, name := range []string{"slow", "other"} {
		w.write(name+"/sub/x", "")
		if err := w.g.threads.registerOpened(w.g.Policy, w.g, w.open(name, filepath.Join(w.root, name))); err != nil {
			t.Fatal(err)
		}
	}
	slow = &slowPaths{Paths: w.g.world.Paths, folder: filepath.Join(w.root, "slow"), waits: make(chan struct{}), release: make(chan struct{})}
	w.g.world.Paths = slow
	for _, record := range w.g.threads.records {
		record.verified.world.Paths = slow
	}
	return w, slow
}

// While the folder of a thread does not answer, that thread alone takes no turns. The others are decided.
func TestFolderThatDoesNotAnswerStopsItsThread(t *testing.T) {
	for name, change := range map[string]func(w *agentWorld) *rpc.Error{
		"a thread opens": func(w *agentWorld) *rpc.Error {
			return w.g.threads.registerOpened(w.g.Policy, w.g, w.open("third", filepath.Join(w.root, "slow")))
		},
		"a thread opens again elsewhere": func(w *agentWorld) *rpc.Error {
			return w.g.threads.registerOpened(w.g.Policy, w.g, w.open("slow", filepath.Join(w.root, "slow", "sub")))
		},
		"settings are reported": func(w *agentWorld) *rpc.Error {
			return w.g.threads.updateSettings(w.g.Policy, w.g, "slow", w.reports(filepath.Join(w.root, "slow", "sub"), "on-request"))
		},
		"the policy changes": func(w *agentWorld) *rpc.Error {
			w.g.threads.records["slow"].verified.answers = nil
			v := w.g.threads.beginVerifyAll(w.g.Policy())["slow"]
			return w.g.threads.finish(w.g.Policy, "slow", v)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, slow := newSlowWorld(t)
			id := map[bool]string{true: "third", false: "slow"}[name == "a thread opens"]
			done := make(chan *rpc.Error)
			go func() { done <- change(w) }()
			<-slow.waits
			input, _ := json.Marshal(map[string]string{"command": "true"})
			use := toolcall.Call{Name: "Bash", Input: value(t, string(input)), Cwd: filepath.Join(w.root, "other")}
			if ruling := w.g.Tool(t.Context(), "other", "u", use, nil); ruling.Refusal != "" {
				t.Errorf("the call of another thread is refused: %s", ruling.Refusal)
			}
			question := value(t, `{"threadId":"other","turnId":"u","itemId":"i","command":"true","cwd":"`+filepath.Join(w.root, "other")+`"}`)
			if w.g.currentState(question).Thread == nil || w.g.isRevoked(question) {
				t.Error("a question of another thread has no thread")
			}
			if w.g.threads.peek(id) != nil {
				t.Error("the thread takes turns before its folder has answered")
			}
			got := make(chan *policy.Thread)
			go func() { got <- w.g.threads.get(t.Context(), "slow", nil) }()
			close(slow.release)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if w.g.threads.peek(id) == nil || <-got == nil {
				t.Error("the thread takes no turns after its folder has answered")
			}
		})
	}
}

// Settings with known folders count at once. If the policy does not allow them, the thread takes no turn,
// even before its folder has answered.
func TestReportedSettingsCountAtOnce(t *testing.T) {
	for approval, allowed := range map[string]bool{"untrusted": true, "never": false} {
		w, slow := newSlowWorld(t)
		done := make(chan *rpc.Error)
		go func() {
			done <- w.g.threads.updateSettings(w.g.Policy, w.g, "slow", w.reports(filepath.Join(w.root, "slow"), approval))
		}()
		<-slow.waits
		one := w.g.threads.peek("slow")
		if (one != nil) != allowed || allowed && string(one.Approval) != `"untrusted"` {
			t.Errorf("%s: the thread is %+v", approval, one)
		}
		w.g.threads.apply("slow", rolloutMoved{"/file"})
		close(slow.release)
		if err := <-done; (err == nil) != allowed {
			t.Errorf("%s: %v", approval, err)
		}
		if one := w.g.threads.peek("slow"); (one != nil) != allowed || allowed && one.Rollout != "/file" {
			t.Errorf("%s: then the thread is %+v", approval, one)
		}
	}
}

// A thread that ends before its folder has answered takes no turns after that, unless its policy alone
// has changed.
func TestVerificationOfAThreadThatHasEnded(t *testing.T) {
	later := func(w *agentWorld) *policy.Policy {
		p := *w.g.Policy()
		return &p
	}
	for name, test := range map[string]struct {
		end   func(w *agentWorld, t *threads)
		opens bool // a thread that was being opened takes turns then
		stays bool // a thread whose settings were reported takes turns then
	}{
		"nothing":           {func(*agentWorld, *threads) {}, true, true},
		"closed":            {func(_ *agentWorld, t *threads) { t.apply("slow", threadUnloaded{}) }, false, false},
		"unsubscribed":      {func(_ *agentWorld, t *threads) { t.unsubscribe("slow", true) }, false, false},
		"revoked":           {func(_ *agentWorld, t *threads) { t.apply("slow", threadRevoked{}) }, false, false},
		"a policy enforced": {func(_ *agentWorld, t *threads) { t.applyAll(enforcementBegun{}) }, true, false},
		"another policy":    {func(w *agentWorld, t *threads) { t.keepPolicy(later(w)); t.beginVerifyAll(later(w)) }, true, true},
		"forbidden since": {func(w *agentWorld, t *threads) {
			cfg := config.Default().Policy
			cfg.Mode, cfg.Sandbox, cfg.Approval, cfg.Models = config.Enforce, "read-only", []string{"never"}, []string{"gpt-5.5"}
			p, err := policy.New(cfg, nil)
			if err != nil {
				panic(err)
			}
			w.g.policy.Store(p)
			t.beginVerifyAll(p)
		}, false, false},
		"other settings meanwhile": {func(w *agentWorld, t *threads) {
			_ = t.updateSettings(w.g.Policy, new(Guard), "slow", value(w.t, strings.NewReplacer("APPROVAL", "never", "CWD", w.root+"/slow", "SANDBOX", readOnlySandbox).Replace(openedSettings)))
		}, false, false},
	} {
		for _, opens := range []bool{true, false} {
			w, slow := newSlowWorld(t)
			folder, done := filepath.Join(w.root, "slow", "sub"), make(chan *rpc.Error)
			go func() {
				if opens {
					done <- w.g.threads.registerOpened(w.g.Policy, w.g, w.open("slow", folder))
				} else {
					done <- w.g.threads.updateSettings(w.g.Policy, w.g, "slow", w.reports(folder, "on-request"))
				}
			}()
			<-slow.waits
			test.end(w, &w.g.threads)
			close(slow.release)
			<-done
			want := test.stays
			if opens {
				want = test.opens
			}
			if got := w.g.threads.peek("slow") != nil; got != want {
				t.Errorf("%s, opens %v: it takes turns: %v", name, opens, got)
			}
			if record := w.g.threads.records["slow"]; record != nil && record.pending != nil {
				t.Errorf("%s, opens %v: a verification is pending", name, opens)
			}
		}
	}
}
