package guard

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// configWarning is the notification by which Codex reports that a part of its configuration has no
// effect. Clients show its summary to their users.
const configWarning = "configWarning"

const (
	// maxNotices bounds the notices that a set remembers, and maxNoticesOnce those of one message.
	maxNotices     = 10_000
	maxNoticesOnce = 8
)

// noticeSet has the last notices that the user has got. Safe for concurrent use.
type noticeSet struct {
	mu      sync.Mutex
	sent    map[string]bool
	inOrder []string // those of sent, in the order of add; a ring once it is full
	next    int      // the oldest one of the full ring
}

// add adds a notice and reports whether it is new. A full set forgets the oldest: a notice may be repeated then, but
// none is lost.
func (s *noticeSet) add(notice string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.sent[notice]:
		return false
	case s.sent == nil:
		s.sent = make(map[string]bool)
	}
	if len(s.inOrder) < maxNotices {
		s.inOrder = append(s.inOrder, notice)
	} else {
		delete(s.sent, s.inOrder[s.next])
		s.inOrder[s.next] = notice
		s.next = (s.next + 1) % maxNotices
	}
	s.sent[notice] = true
	return true
}

// titleSource is the threadSource of a thread that the user does not see. Measured with Codex 0.169:
// after each prompt its TUI opens such a thread for a title, with 20 features switched off.
const titleSource = "thread_title"

// warnChanged tells the user what the policy took away from a request, once for each thread and kind
// of change. Clients that know the bridge get bridge/policy/applied instead.
func (g *Guard) warnChanged(call *bridge.ClientMessage, changes []policy.Change) {
	if call.Kind != rpc.Request || g.knowsBridge != nil && g.knowsBridge() || textOf(call, "threadSource") == titleSource {
		return
	}
	var kinds, sentences []string
	for _, change := range changes {
		if kind, sentence := change.Notice(); kind != "" {
			kinds, sentences = append(kinds, kind), append(sentences, sentence)
		}
	}
	if len(kinds) == 0 {
		return
	}
	named := textOf(call, "threadId")
	call.OnResponse(func(a *bridge.ServerResponse) {
		if !a.Result().Exists() {
			return
		}
		thread := named
		if id, ok := a.Result().Get("thread").Get("id").Text(); ok {
			thread = id
		}
		sent := 0
		for i, kind := range kinds {
			switch {
			case !g.notices.add("changed " + thread + " " + kind):
				continue
			case sent == maxNoticesOnce:
				g.warnAfter(a, map[string]any{"summary": "codex-bridge has changed " + strconv.Itoa(len(kinds)-i) + " more settings; codex-bridge decisions lists them."})
				return
			}
			g.warnAfter(a, map[string]any{"summary": sentences[i]})
			sent++
		}
	})
}

// warnAtStart tells the user the sentences of SetStartNotices, once: clients may drop what they get
// before a thread is open.
func (g *Guard) warnAtStart(call *bridge.ClientMessage) {
	if len(g.startNotices) == 0 || call.Kind != rpc.Request {
		return
	}
	call.OnResponse(func(a *bridge.ServerResponse) {
		if !a.Result().Exists() || !g.notices.add("start") {
			return
		}
		for i, sentence := range g.startNotices {
			if i == maxNoticesOnce {
				sentence = "codex-bridge has removed " + strconv.Itoa(len(g.startNotices)-i) + " more arguments; codex-bridge decisions lists them."
			}
			g.warnAfter(a, map[string]any{"summary": sentence})
			if i == maxNoticesOnce {
				return
			}
		}
	})
}

// terminalClient is the name of Codex's terminal interface as a client.
const terminalClient = "codex-tui"

// readOnlyNotice tells a user of the terminal interface why Codex can't edit a file.
const readOnlyNotice = "codex-bridge has opened this thread read-only: Codex's terminal interface asks for that in a folder that you do not trust, or by -s read-only. To let Codex edit files, start with -s workspace-write, or trust the folder."

// warnReadOnly tells a user of Codex's terminal interface, once, that a thread is read-only though the policy
// lets it write. Measured with Codex 0.169: without -s it sends read-only in a folder that the user does not
// trust, and shows nothing of it.
func (g *Guard) warnReadOnly(call *bridge.ClientMessage, p *policy.Policy) {
	if !strings.HasPrefix(g.clientName(), terminalClient+" ") || textOf(call, "sandbox") != "read-only" ||
		textOf(call, "threadSource") == titleSource || !p.AllowsWriting() || call.Kind != rpc.Request {
		return
	}
	call.OnResponse(func(a *bridge.ServerResponse) {
		if a.Result().Exists() && g.notices.add("read-only") {
			g.warnAfter(a, map[string]any{"summary": readOnlyNotice})
		}
	})
}

// warnUntested tells the user, and the decision log, once that this bridge was not tested with the
// Codex that has opened a thread.
func (g *Guard) warnUntested(call *bridge.ClientMessage) {
	if g.untested == nil || call.Kind != rpc.Request {
		return
	}
	method := call.Method // the parser reuses the message
	call.OnResponse(func(a *bridge.ServerResponse) {
		if !a.Result().Exists() || !g.notices.add("untested") {
			return
		}
		text := g.untested()
		if text == "" {
			return
		}
		if g.peer.OptedOut(configWarning) {
			g.log.Warn(text) // the client does not show it
		}
		err := g.recorder.Append(context.Background(), decision.Record{
			Time: time.Now(), Client: g.clientName(), Method: method, Verdict: string(policy.Pass), Mode: string(g.Mode()), Rule: "codex.version", Reason: text, CanWait: true,
		})
		if err != nil {
			g.log.Error("a notice can't be written to the decision log", "error", err)
		}
		g.warnAfter(a, map[string]any{"summary": text})
	})
}

// warnAfter sends the client a configWarning after a response. Those of Codex always have the member details, maybe null.
// Each notice of the bridge begins with its name, by which exec knows it.
func (g *Guard) warnAfter(a *bridge.ServerResponse, params map[string]any) {
	if _, ok := params["details"]; !ok {
		params["details"] = nil
	}
	if !g.peer.OptedOut(configWarning) {
		a.AfterSent(func() { g.peer.Notify(configWarning, params) })
	}
}

// WarnOnce tells the user of a client that does not know the bridge, once for each thread, that a consent
// for longer counts once.
func (g *Guard) WarnOnce(thread, text string) {
	if g.knowsBridge != nil && g.knowsBridge() || g.peer.OptedOut(configWarning) || !g.notices.add("once "+thread) {
		return
	}
	g.peer.Notify(configWarning, map[string]any{"summary": text, "details": nil})
}
