package guard

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// threads has the state of all threads that the Guard knows. mu guards all fields except folders
// and writable, which are safe for concurrent use. Nothing waits or asks the disk while mu is held. Only
// apply changes a record. The slices pastPolicies, starting and projects are replaced, never changed.
type threads struct {
	mu sync.Mutex
	// records are the threads that Codex may have in memory, or whose agents it may, by id.
	records map[string]*threadRecord
	// recordChanges is the number of changes of records so far.
	recordChanges uint64
	// onEnd are called with the id of each thread that Codex has unloaded, or whose record ends. mu is held.
	onEnd []func(id string)
	// forgetAt is the number of idle records at which the guard looks for those that have ended.
	forgetAt int
	// pastPolicies are all policies since the bridge started that were active or in extraPolicies,
	// except the active one: at most one more than maxExtraPolicies.
	pastPolicies []*policy.Policy
	changeCount  uint64 // number of gate changes so far
	// starting are the channels of pending requests that create a thread.
	starting []chan struct{}
	// projects are the values of policy.Thread.Project of all requests since the bridge started that
	// have opened a thread, or may have. Codex keeps a project's configuration when it opens a thread
	// again from another folder, in its subagents, and in its internal work.
	projects []string
	// writable are the folders that commands could write, including those of unverified threads.
	writable writableFolders
	// folders are the workspaces of verified threads, sorted and without duplicates. The slice is
	// replaced, never changed, so any goroutine may read it.
	folders atomic.Pointer[[]string]
}

// workspaces returns the folders of the threads that may take turns.
func (t *threads) workspaces() []string {
	if folders := t.folders.Load(); folders != nil {
		return *folders
	}
	return nil
}

// thread is a verified thread, with the data to verify it against another policy.
type thread struct {
	policy.Thread
	sent         *policy.SentSettings
	changedGate  *bool    // the gate that a later request has set; nil if none has
	gateOrder    uint64   // number of that request, or of the one that opened the thread
	openResult   *rpc.Doc // Codex's result when the thread was opened
	lastSettings *rpc.Doc // Codex's last report of settings since; nil if none
	world        policy.State
	written      []string     // folders that commands of the thread could write until the last verification
	answers      *diskAnswers // to the last verification
}

// peek returns a thread for a message of Codex, without waiting; nil if it may take no turn.
func (t *threads) peek(id string) *policy.Thread { return t.current(id, mayBeGated) }

// recordSent records the project of a request that opens a thread, "" for none, and the policies of its
// folders. Call it before Codex gets the request: Codex may start internal work for the thread before
// it answers, and also for a thread that then takes no turn.
func (t *threads) recordSent(folder string, own []*policy.Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range own {
		t.recordPolicyLocked(p)
	}
	if folder != "" && !slices.Contains(t.projects, folder) {
		t.projects = append(slices.Clip(t.projects), folder)
	}
}

// loadedProjects returns the folders whose project configuration Codex may have loaded.
func (t *threads) loadedProjects() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.projects
}

// noteApproval records an effective approval policy under which an accepted command may leave the
// sandbox.
func (r *threadRecord) noteApproval(approval rpc.Value) {
	r.mayRerun = r.mayRerun || policy.RerunsOutside(approval.Raw())
}

// count returns the number of threads that may take turns.
func (t *threads) count() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, record := range t.records {
		if record.state == verified {
			n++
		}
	}
	return n
}

// isOpenedByClient reports whether the client has tried to open the thread.
func (t *threads) isOpenedByClient(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	record := t.records[id]
	return record != nil && record.openedByClient
}

// copyResult copies a result or the params of a notification, without the thread's history.
func copyResult(v rpc.Value) *rpc.Doc {
	kept := make(map[string]json.RawMessage)
	for name, member := range v.Members() {
		switch name {
		case "thread":
			kept[name] = json.RawMessage(`{"id":` + orNull(member.Get("id")) + `,"path":` + orNull(member.Get("path")) + `,"environments":` + orNull(member.Get("environments")) + `}`)
		case "initialTurnsPage":
		default:
			kept[name] = bytes.Clone(member.Raw())
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		panic(err) // the members are raw JSON of a parsed text
	}
	doc, err := rpc.ParseValue(text)
	if err != nil {
		panic(err)
	}
	return doc
}

// orNull returns the JSON of v, or null if v is missing.
func orNull(v rpc.Value) string {
	if !v.Exists() {
		return "null"
	}
	return string(v.Raw())
}

// recordPolicyLocked adds a policy to pastPolicies. The caller holds mu.
func (t *threads) recordPolicyLocked(p *policy.Policy) {
	if len(t.pastPolicies) <= maxExtraPolicies && !slices.ContainsFunc(t.pastPolicies, p.Equal) {
		t.pastPolicies = append(slices.Clip(t.pastPolicies), p)
	}
}
