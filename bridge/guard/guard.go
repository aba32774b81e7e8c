package guard

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/mountpoint"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/userrules"
	"codex-bridge.example/rpc"
)

// codexTimeout is how long a message waits for Codex: for its configuration, or for the response to
// an earlier thread/resume. Codex needs milliseconds; after the timeout the message is refused.
const codexTimeout = time.Minute

// Guard enforces the policy of one conversation.
type Guard struct {
	*shared
	clientOptions
	notices               noticeSet
	client                atomic.Pointer[string] // the client's name and version; nil before initialize
	requiredNotifications []string               // methods of the notifications that decisions need
	consents              consentedRequests
	showing               sync.Mutex // held while the client is shown settings of a thread
	listed                otherRuns  // the first of the other hooks for each call, "" if there is none
	peer                  *bridge.Conn
	recorder              Recorder
	counts                struct{ rewritten, refused atomic.Int64 }
	log                   *slog.Logger
}

// clientOptions are set before the conversation starts.
type clientOptions struct {
	knowsBridge  func() bool              // set by SetKnowsBridge; nil: no client does
	startNotices []string                 // set by SetStartNotices
	subscribers  func(thread string) bool // set by SetOtherSubscribers; nil: there is no other client
	otherHooks   OtherHooks               // set by SetOtherHooks; nil: Codex runs only the bridge's
	hookSource   string                   // of the bridge's hooks; set by SetOtherHooks
	listeners    []func(Applied)          // set by OnApplied
	passed       func(decision.Record)    // set by OnPassed; may be nil
}

// shared is what the Guards of all clients of one Codex share. Safe for concurrent use.
type shared struct {
	sharedOptions
	turnRecords
	policy       atomic.Pointer[policy.Policy]
	codexTimeout time.Duration
	diskTimeout  time.Duration
	world        policy.State // the machine: folders, programs and file system; see machine
	configured   configuredState
	pinArgs      []string // the policy's arguments with which Codex was started
	threads      threads
	endedTurns   noticeSet // turns of which is logged why they are interrupted
	userRules    userrules.Reader
	unenforced   atomic.Bool // Codex may have loaded threads while no policy was enforced
	requirements machineRequirements
	gateWrites   sync.Mutex // held while gateRecord is written
}

// turnRecords are what the guard knows of turns and of the calls in them.
type turnRecords struct {
	turnSettings turnSettings
	patches      patches
	calls        startedCalls
	otherRuns    otherRuns
}

// sharedOptions are set before the conversation starts.
type sharedOptions struct {
	codexCheck    func(context.Context) error                 // set by SetCodexCheck; nil: every Codex is usable
	readUserAgent func(userAgent, client string)              // set by SetUserAgentReader; nil: it is not read
	programStarts func() bool                                 // set by SetProgramStarts; nil: no program start is decided
	unsupervised  func(*policy.Policy) (why string)           // set by SetUnsupervised; nil: always ""
	turnEnded     func(thread string, turns ...string)        // set by SetTurnEnded; nil: nothing is called
	untested      func() string                               // set by SetUntestedCodex; nil: Codex is tested
	folderPolicy  func(folder string) (*policy.Policy, error) // set by SetFolderPolicies; nil: no folder has a policy file
	folderDigest  func(folder string) string                  // set by SetFolderDigest; nil: policy files do not change
	gitEnv        []string                                    // set by SetGitEnv; nil: repositories are not checked
	gateRecord    GateRecord                                  // set by SetGateRecord; nil: nothing is recorded
	mountPoints   *mountpoint.Keeper                          // set by SetMountPoints; nil: Codex creates its mount points itself
}

// SetUntestedCodex sets the function that returns a sentence about a Codex with which this bridge was
// not tested; "" for others. Call it before the conversation starts.
func (g *Guard) SetUntestedCodex(f func() string) { g.untested = f }

// SetMountPoints sets what keeps the mount points of protected paths that do not exist. Call it before
// the conversation starts.
func (g *Guard) SetMountPoints(keeper *mountpoint.Keeper) { g.mountPoints = keeper }

// SetStartNotices sets sentences for the user, which the client gets once, after the first thread has
// opened. Call it before the conversation starts.
func (g *Guard) SetStartNotices(sentences []string) { g.startNotices = sentences }

// SetKnowsBridge sets the function that reports whether the client gets bridge/policy/applied. Call it
// before the conversation starts.
func (g *Guard) SetKnowsBridge(f func() bool) { g.knowsBridge = f }

// CodexHome returns Codex's own folder, or "" if it is unknown.
func (g *Guard) CodexHome() string { return g.world.CodexHome }

// New returns a Guard that enforces p. world has the folders and the file system for each decision.
func New(p *policy.Policy, world policy.State, recorder Recorder, log *slog.Logger) *Guard {
	g := &Guard{shared: &shared{world: world, codexTimeout: codexTimeout, diskTimeout: diskTimeout, pinArgs: p.PinArgs()}, recorder: recorder, log: log}
	g.threads.onEnd = []func(string){g.calls.forget, g.patches.forget, g.turnSettings.forget}
	g.policy.Store(p)
	g.unenforced.Store(p.Mode() != config.Enforce)
	g.readRules(p)
	return g
}

// Join returns a Guard for another client of the same Codex. The two have the same policy, and share
// what they know of the threads.
func (g *Guard) Join(recorder Recorder, log *slog.Logger) *Guard {
	return &Guard{shared: g.shared, recorder: recorder, log: log}
}

// SetOtherSubscribers sets the function that reports whether another client of the same Codex gets
// the notifications of a thread. Call it before the conversation starts.
func (g *Guard) SetOtherSubscribers(f func(thread string) bool) { g.subscribers = f }

// Leave must be called when the connection of the client ends, with the threads whose notifications
// no other client gets. They take no turns until a client resumes them.
func (g *Guard) Leave(threads []string) {
	for _, id := range threads {
		g.threads.unsubscribe(id, g.isOpened(id))
	}
	g.threads.applyAll(clientLeft{g})
}

// readRules reads the user's own rules for commands, which Codex reads when it starts and when it
// opens a thread.
func (g *Guard) readRules(p *policy.Policy) {
	if p.Mode() != config.Off {
		g.UserRules()
	}
}

// Attach implements bridge.Attacher.
func (g *Guard) Attach(peer *bridge.Conn) {
	g.peer = peer
	// The first is of relay/inject: a hook that has failed. Without the second a turn would not end.
	g.requiredNotifications = []string{"hook/completed", "turn/completed"}
	for _, r := range g.Routes() {
		if r.From == bridge.Codex && r.Method != bridge.Other && !r.ReadOnly { // no decision needs what is only read
			g.requiredNotifications = append(g.requiredNotifications, r.Method)
		}
	}
}

// SetPolicy replaces the active policy, from the next message on. Threads whose last known settings
// the new policy does not allow take no turns until the client resumes them. If the old policy was
// not enforced and the new one is, this applies to all threads. An open thread is still checked
// against each policy that was active since it was opened.
//
// It returns true if turns may run in Codex that no policy has verified; see InterruptTurns.
func (g *Guard) SetPolicy(p *policy.Policy) (unverified bool) {
	if p.Mode() != config.Enforce {
		g.unenforced.Store(true)
	}
	if p.Mode() == config.Off { // the guard sees no requests of the client from now on
		g.threads.applyAll(guardSwitchedOff{})
	}
	was := g.policy.Swap(p)
	g.readRules(p)
	if was.Equal(p) {
		return false // another section of the configuration has changed, or only where the policy is written
	}
	unverified = p.Mode() == config.Enforce && was.Mode() != config.Enforce
	if unverified {
		g.threads.applyAll(enforcementBegun{}) // they were not verified and may have no hooks
	}
	if n := g.threads.keepPolicy(was.WithBundle()); n > 0 && was.Mode() == config.Enforce {
		g.recordPolicyChange(fmt.Sprintf("the configuration has changed; %d open threads are still checked against the policies under which they were opened; "+
			"open them again to apply only the new policy", n))
	}
	g.threads.verifyAll(g.policy.Load)
	return unverified
}

// SetCodexCheck sets a check of Codex. Under enforce, every message of the client is refused while
// usable returns an error, which says why the bridge can't enforce a policy with this Codex. Only the
// request initialize is checked with its response, in place of which the client gets the refusal. Call it
// before the conversation starts. usable may wait until its context is done.
func (g *Guard) SetCodexCheck(usable func(context.Context) error) { g.codexCheck = usable }

// SetUserAgentReader sets a function that gets the userAgent in the response to the first initialize, and
// the clientInfo.name of the request, before the check of SetCodexCheck. Only a Codex that has this client
// alone may have one: Codex uses the name of its first client in all its responses.
func (g *Guard) SetUserAgentReader(read func(userAgent, client string)) { g.readUserAgent = read }

// requireUsableCodex returns an error if the policy is enforced and the check of SetCodexCheck fails.
func (g *Guard) requireUsableCodex(ctx context.Context, method string) *rpc.Error {
	if g.codexCheck == nil || g.policy.Load().Mode() != config.Enforce {
		return nil
	}
	if err := g.codexCheck(ctx); err != nil {
		return rpc.Errorf(rpc.CodeUpstream, "%s: %v", display.Clip(method), err)
	}
	return nil
}

// requireNotifications returns an error if the client disabled a notification that verification
// needs. The client did so before the policy was active.
func (g *Guard) requireNotifications(method string) *rpc.Error {
	disabled := g.peer.DisabledNotification(g.requiredNotifications)
	if disabled == "" {
		return nil
	}
	return policy.NewRefusalError(rpc.CodeNotVerified, policy.Refusal{
		Method: method, Rule: "policy.mode", Hint: "restart the editor's session with codex",
		Reason: "the client disabled the notification " + disabled + ", which the policy needs, before the policy was active",
	})
}

// Stage implements bridge.Feature.
func (*Guard) Stage() bridge.Stage { return bridge.Guarding }

// Threads returns the number of threads that may take turns.
func (g *Guard) Threads() int { return g.threads.count() }
