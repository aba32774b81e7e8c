package policy_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/reported"
	"codex-bridge.example/rpc"
)

// exceedsAlone returns what a thread with the settings may do that one with those of alone may not; "" for
// nothing. A client that answers about commands can let each of them leave the sandbox, so there other
// kinds of questions add nothing.
func (t threadSettings) exceedsAlone(alone threadSettings) string {
	inside, outside, rule, others := t.outcomes()
	insideAlone, outsideAlone, ruleAlone, othersAlone := alone.outcomes()
	switch {
	case inside > insideAlone:
		return "commands in the sandbox"
	case outside > outsideAlone:
		return "commands outside the sandbox"
	case rule > ruleAlone:
		return "commands that a rule asks about"
	case t.reviewer != "user" && alone.reviewer == "user":
		return "the reviewer " + t.reviewer
	case t.hasNetwork() && !alone.hasNetwork():
		return "the network"
	case t.hasNetwork() && alone.limits != nil && !alone.danger && !reflect.DeepEqual(t.limits, alone.limits):
		return fmt.Sprintf("the network with %v", t.limits)
	}
	for kind, outcome := range others {
		if outcome > othersAlone[kind] && (outsideAlone == refused || outcome == allowed) {
			return kind
		}
	}
	for _, path := range lawFolders {
		if at := t.access(path); slices.Index(accessOrder, at) > slices.Index(accessOrder, alone.access(path)) {
			return at + " " + path
		}
	}
	return ""
}

func (t threadSettings) hasNetwork() bool { return t.danger || t.network }

// played is a thread as it is with Codex alone and behind the bridge.
type played struct {
	t *rapid.T
	// codex is the configuration of Codex behind the bridge, and without that of Codex alone. They differ in the
	// trust that Codex stores.
	codex, without codexAlone
	cfg            config.Policy
	p              *policy.Policy
	alone, bridge  threadSettings
	thread         *policy.Thread // nil: the bridge does not know it
	known          string         // recorded of the thread; see State.KnownFolder
	innerRoots     []string       // recorded of the thread; see State.InnerRoots
	recorded       bool           // the state has a record of the thread
	unrecorded     bool           // a turn under a read-only policy named an inner root, which the state does not record
	started        bool           // the bridge accepts the command line
	opened         string         // the folder in which the thread was opened
	log            []string
}

func play(t *rapid.T) *played {
	w := &played{t: t, codex: drawAlone(t)}
	w.codex.flags = drawFlags(t)
	w.without = w.codex
	w.drawPolicy()
	return w
}

// drawPolicy draws another policy. From enforce to audit a thread loses the bridge's questions, as without the
// bridge; so audit comes only first.
func (w *played) drawPolicy() {
	enforced := w.cfg.Mode == config.Enforce
	w.started = true
	// A thread that got never in place of another approval policy keeps it. It belongs to a policy without full
	// access, and a later one is as strict.
	putsNever := enforced && w.cfg.Approval[0] == "never" && w.cfg.Sandbox != "danger-full-access"
	if w.cfg = drawLimits(w.t); putsNever && w.cfg.Sandbox == "danger-full-access" {
		w.cfg.Sandbox = "workspace-write"
	}
	if w.unrecorded {
		w.cfg.Sandbox = "read-only" // a stated limit
	}
	if !enforced && rapid.IntRange(0, 4).Draw(w.t, "audit") == 0 {
		w.cfg.Mode = config.Audit
	}
	w.p = compile(w.t, w.cfg)
	w.codex.flags = w.without.flags
	if w.cfg.Mode == config.Enforce {
		w.codex.flags, w.started = w.without.flags.under(w.p)
	}
}

// decide returns what Codex gets in place of a request; ok is false if the bridge refuses it.
func (w *played) decide(method string, params map[string]any, st policy.State) (sent map[string]any, d policy.Decision, ok bool) {
	line := encoded(w.t, map[string]any{"id": 1, "method": method, "params": params})
	w.unrecorded = w.unrecorded || w.cfg.Sandbox == "read-only" && !strings.HasPrefix(method, "thread/") && bytes.Contains(line, []byte("/code/proj/docs"))
	m, err := rpc.ParseMessage(line)
	if err != nil {
		w.t.Fatal(err)
	}
	st.Defaults = w.codex.defaults(w.t)
	if d = w.p.Decide(m, st); d.Want == policy.WantConfiguration {
		st.Defaults.Cwd = d.ConfigCwd
		d = w.p.Decide(m, st)
	}
	w.log = append(w.log, string(line), string(d.Message))
	if w.cfg.Mode == config.Audit { // Codex gets the client's message
		gated := false
		if d.Gated = &gated; d.Sent != nil {
			d.Sent.Gated = &gated
		}
		return params, d, true
	}
	if d.Err != nil {
		return nil, d, false
	}
	var got struct{ Params map[string]any }
	if err := json.Unmarshal(d.Message, &got); err != nil {
		w.t.Fatal(err)
	}
	return got.Params, d, true
}

// check compares both sides.
func (w *played) check() {
	if what := w.bridge.exceedsAlone(w.alone); what != "" {
		w.t.Fatalf("more is allowed than with Codex alone: %s\nconfiguration %+v\npolicy %+v\nalone %+v\nbridge %+v\n%s", what, w.codex, w.cfg, w.alone, w.bridge, strings.Join(w.log, "\n"))
	}
}

// checkEnvironments checks that the bridge refuses an environment that Codex alone does not have.
func (w *played) checkEnvironments(params map[string]any) {
	if w.cfg.Mode == config.Enforce && !knowsEnvironments(params) {
		w.t.Fatalf("a request with an unknown environment passes\n%s", strings.Join(w.log, "\n"))
	}
}

// open plays a request that opens a thread. It returns false if the thread takes no turn.
func (w *played) open(method string, params map[string]any, restored *threadSettings, st policy.State) bool {
	var storedAlone *threadSettings
	if restored != nil {
		copied := w.alone
		storedAlone = &copied
	}
	sent, d, ok := w.decide(method, params, st)
	if !ok {
		return false
	}
	w.checkEnvironments(params)
	w.recordRoots(method, d)
	w.alone, w.bridge = w.without.open(method, params, storedAlone), w.codex.open(method, sent, restored)
	if method == "thread/start" {
		w.without, w.codex = w.without.afterStart(params, w.alone), w.codex.afterStart(sent, w.bridge)
	}
	w.bridge.gated = d.Gated != nil && *d.Gated || d.Gated == nil && st.Thread != nil && st.Thread.Gated
	result, err := rpc.ParseValue(encoded(w.t, w.bridge.response()))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.cfg.Mode == config.Enforce && reported.Verify(w.p, d.Sent, result.Root(), st) != nil {
		return false
	}
	w.check()
	if w.thread, err = policy.NewThread(d.Sent, result.Root(), st); err != nil {
		return false
	}
	if method != "thread/resume" {
		w.opened = w.bridge.cwd
	}
	w.recorded = w.cfg.Mode == config.Enforce || w.recorded && method == "thread/resume"
	w.known = w.thread.KnownFolder
	return true
}

// recordRoots records the roots that the bridge has removed from a request that opens the thread, even if it then takes
// no turn.
func (w *played) recordRoots(method string, d policy.Decision) {
	switch {
	case w.cfg.Mode == config.Enforce:
		w.innerRoots = d.Sent.InnerRoots
	case method != "thread/resume":
		w.innerRoots = nil
	}
}

// resumeLoaded plays a resume of a thread that Codex has in memory: it ignores the request's settings. It returns
// false if the thread takes no turn.
func (w *played) resumeLoaded(params map[string]any) bool {
	st, profile := state(), w.thread.Profile
	st.Thread, st.LoadedProfile, st.NotLoaded, st.KnownFolder, st.InnerRoots = w.thread, &profile, false, w.known, w.innerRoots
	_, d, ok := w.decide("thread/resume", params, st)
	if !ok || d.Sent == nil {
		return false
	}
	d.Sent.Loaded = true
	if d.Sent.Gated != nil && !*d.Sent.Gated { // package guard keeps the gate of a loaded thread
		d.Sent.Gated = nil
	}
	w.bridge.gated = w.thread.Gated || d.Sent.Gated != nil
	result, err := rpc.ParseValue(encoded(w.t, w.bridge.response()))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.cfg.Mode == config.Enforce && reported.Verify(w.p, d.Sent, result.Root(), st) != nil {
		return false
	}
	w.check()
	thread, err := policy.NewThread(d.Sent, result.Root(), st)
	if err != nil {
		return false
	}
	thread.Gated = w.bridge.gated
	w.thread, w.known, w.innerRoots = thread, cmp.Or(w.known, thread.KnownFolder), thread.InnerRoots
	return true
}

// response is Codex's response to a request that opened the thread.
func (t threadSettings) response() map[string]any {
	var profile any
	if t.profile != modeProfile {
		profile = map[string]any{"id": t.profile, "extends": nullable(t.table[t.profile].Extends)}
	}
	return map[string]any{
		"thread": map[string]any{"id": "T"}, "approvalPolicy": t.approval, "approvalsReviewer": t.reviewer, "cwd": t.cwd, "runtimeWorkspaceRoots": t.roots, "model": "gpt-5.5",
		"activePermissionProfile": profile,
		"sandbox": map[string]any{
			"type":          map[string]string{"read-only": "readOnly", "workspace-write": "workspaceWrite", "danger-full-access": "dangerFullAccess"}[t.level()],
			"writableRoots": t.writableRoots(), "networkAccess": t.network, "excludeTmpdirEnvVar": t.noTmpdir, "excludeSlashTmp": t.noSlashTmp,
		},
	}
}

// writableRoots returns the folders that Codex lists as writable, without the workspace and temporary folders.
func (t threadSettings) writableRoots() []string {
	roots := []string{}
	for path, access := range t.table.entriesWith(t.profile, t.writableFolders()) {
		if access == "write" && !slices.Contains([]string{"/", t.cwd, "/tmp", "/var/tmp/t"}, path) {
			roots = append(roots, path)
		}
	}
	slices.Sort(roots)
	return roots
}

func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Level returns the mode in which Codex shows the sandbox.
func (t threadSettings) level() string {
	switch {
	case t.danger:
		return "danger-full-access"
	case slices.ContainsFunc(lawFolders, func(path string) bool { return t.access(path) == "write" }):
		return "workspace-write"
	}
	return "read-only"
}

// restart returns what the bridge knows about a thread after a restart, from Codex's file, which it
// may not be able to read.
func (w *played) restart() policy.State {
	st := w.read()
	if rapid.IntRange(0, 5).Draw(w.t, "unreadable record") == 0 {
		st.Stored, st.StoredSandbox, st.StoredApproval, st.StoredProblem = nil, nil, nil, "it is unreadable"
	}
	return st
}

// read is restart with a file that the bridge can read.
func (w *played) read() policy.State {
	st, t := state(), w.bridge
	st.Thread, st.ThreadFolder = nil, t.cwd
	if t.cwd != w.opened {
		st.OpenedIn = w.opened
	}
	st.StoredSandbox = &policy.SandboxSettings{Mode: t.level(), Network: t.network, NoTmpdir: t.noTmpdir, NoSlashTmp: t.noSlashTmp}
	if t.profile != modeProfile {
		st.StoredSandbox.Profile = t.profile
	}
	st.StoredApproval = encoded(w.t, t.approval)
	// Without a record, a policy under which no client could choose these questions does not ask them.
	asks := w.cfg.Gate && (slices.Contains(w.cfg.Approval, "untrusted") || slices.Contains(w.cfg.Approval, "on-request"))
	if w.recorded && (t.gated && !asks || rapid.IntRange(0, 3).Draw(w.t, "lost record") > 0) {
		gated := t.gated
		st.StoredGate, st.KnownFolder = &gated, w.known
	}
	st.InnerRoots = w.innerRoots // with a lost record, these are lost, too
	st.Stored = &policy.StoredProfile{ReadsRoot: t.access("/") != "deny", Roots: t.roots}
	if t.profile != modeProfile {
		st.Stored.Name = t.profile
	}
	if !t.danger {
		for path, access := range t.table.entriesWith(t.profile, t.writableFolders()) {
			switch access {
			case "deny":
				st.Stored.Denied = append(st.Stored.Denied, filepath.Clean(path))
			case "read":
				st.Stored.Read = append(st.Stored.Read, filepath.Clean(path))
			case "write":
				st.Stored.Written = append(st.Stored.Written, filepath.Clean(path))
			}
		}
	}
	for _, paths := range [][]string{st.Stored.Denied, st.Stored.Read, st.Stored.Written} {
		slices.Sort(paths)
	}
	return st
}

// TestNothingIsLoosened plays threads that are started, take turns, and are resumed or forked, in memory, or after
// a restart of the bridge and under another policy, for each configuration of Codex and each policy: of commands, questions, files
// and the network, never more is allowed than with Codex alone and the same requests.
func TestNothingIsLoosened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := play(t)
		if !w.started {
			return
		}
		if rapid.IntRange(0, 3).Draw(t, "started by Codex alone") == 0 {
			params := w.codex.drawOpening(t, "thread/start")
			w.alone = w.without.open("thread/start", params, nil)
			w.bridge, w.without = w.alone, w.without.afterStart(params, w.alone)
			w.codex.trust, w.opened = w.without.trust, w.alone.cwd
		} else if st := state(); !w.open("thread/start", w.codex.drawOpening(t, "thread/start"), nil, withoutThread(st)) {
			return
		}
		for range rapid.IntRange(0, 3).Draw(t, "requests") {
			if w.thread == nil || rapid.IntRange(0, 2).Draw(t, "restart") == 0 {
				w.thread = nil
				if w.drawPolicy(); !w.started {
					return
				}
				stored := w.bridge
				method := sample(t, "method", "thread/resume", "thread/fork")
				params := w.codex.drawOpening(t, method)
				if rapid.IntRange(0, 2).Draw(t, "elsewhere") == 0 {
					params["cwd"] = "/code/proj"
					w.move()
				}
				st := w.restart()
				if params["cwd"] != nil {
					st.OpenedIn = ""
				}
				if !w.open(method, params, &stored, st) {
					return
				}
				continue
			}
			if rapid.IntRange(0, 4).Draw(t, "fork in memory") == 0 {
				st, stored := w.restart(), w.bridge
				st.Thread, st.OpenedIn = w.thread, ""
				if !w.open("thread/fork", w.codex.drawOpening(t, "thread/fork"), &stored, st) {
					return
				}
				continue
			}
			if rapid.IntRange(0, 4).Draw(t, "loaded") == 0 {
				if !w.resumeLoaded(w.codex.drawOpening(t, "thread/resume")) {
					return
				}
				continue
			}
			method := sample(t, "method", "turn/start", "thread/settings/update")
			if params := w.codex.drawTurn(t, method); !w.turn(method, params) {
				return
			}
		}
	})
}

// move makes another folder that of the thread. It has the name of the one before, which gets another name.
func (w *played) move() {
	if w.known != "" {
		w.known = "/code/before"
	}
	w.codex.trust = sample(w.t, "trust of the other folder", "", "trusted", "untrusted")
	w.without.trust = w.codex.trust
}

func withoutThread(st policy.State) policy.State {
	st.Thread = nil
	return st
}

// turn plays a turn or a change of settings. It returns false if the bridge refuses it.
func (w *played) turn(method string, params map[string]any) bool {
	st := state()
	st.Thread = w.thread
	if method == "turn/start" {
		params["input"] = []any{}
	}
	sent, d, ok := w.decide(method, params, st)
	if !ok {
		return false
	}
	w.checkEnvironments(params)
	w.alone, w.bridge = w.codex.turn(w.alone, params), w.codex.turn(w.bridge, sent)
	if d.Gated != nil {
		w.bridge.gated = *d.Gated
	}
	w.check()
	thread := *w.thread
	response := w.bridge.response()
	response["sandboxPolicy"] = response["sandbox"]
	doc, err := rpc.ParseValue(encoded(w.t, response))
	if err != nil {
		w.t.Fatal(err)
	}
	thread.Update(doc.Root())
	thread.Gated = w.bridge.gated
	w.thread = &thread
	return true
}
