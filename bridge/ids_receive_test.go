package bridge_test

import (
	"encoding/json"
	"slices"
	"strings"
)

// receivedLine is a line that one of the sides received.
type receivedLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code int             `json:"code"`
		Data json.RawMessage `json:"data"`
	} `json:"error"`
}

// payload has the members that the sides and the bridge put into params, results and errors.
type payload struct {
	Token   *int            `json:"t"`
	Own     json.RawMessage `json:"own"`
	By      string          `json:"by"`
	Watched int             `json:"watched"`
	Judged  int             `json:"judged"`
	Fence   int             `json:"fence"`
}

func (p *play) read(line string) (receivedLine, payload) {
	p.t.Helper()
	var h receivedLine
	var in payload
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		p.fail("%s: %v", line, err)
	}
	text := h.Params
	switch {
	case h.Result != nil:
		text = h.Result
	case h.Error != nil:
		text = h.Error.Data
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &in); err != nil {
			p.fail("%s: %v", line, err)
		}
	}
	return h, in
}

// spellingIndex returns the index of an id in spellings, or -1.
func spellingIndex(id json.RawMessage) int {
	return slices.IndexFunc(spellings, func(all []string) bool { return slices.Contains(all, string(id)) })
}

func (p *play) lookup(token *int, line string) *record {
	if token == nil || *token < p.first || *token >= len(p.messages) {
		p.fail("%s was never sent", line)
	}
	return p.messages[*token]
}

// editorReceives records a line that the editor received.
func (p *play) editorReceives(line string) {
	p.t.Helper()
	p.log = append(p.log, "editor< "+line)
	h, in := p.read(line)
	id := spellingIndex(h.ID)
	switch {
	case in.Fence > 0:
		p.fences["editor"] = in.Fence
	case h.Method == "own/question": // a request of the bridge
		p.ownHere[string(h.ID)] = p.lookup(in.Token, line)
	case h.Method == "own/answered" || in.Own != nil && h.Method == "":
		p.ownResult(in.Own, line)
		p.owed--
		if h.Method == "" {
			if id < 0 {
				p.fail("an answer to nothing: %s", line)
			}
			p.ids[id].ownReplies++
		}
	case h.Error != nil && h.Error.Code != 7: // an error of the bridge
		if id >= 0 {
			p.ids[id].refused++
			p.ids[id].pending--
		} else if p.owed--; string(h.ID) != "null" && !strings.HasPrefix(string(h.ID), `"codex-bridge-`) {
			p.fail("a refusal of an id that nobody used: %s", line)
		}
	default:
		p.fromCodex(h, in, line)
	}
}

// ownResult records the result of a request of the bridge.
func (p *play) ownResult(result json.RawMessage, line string) {
	p.t.Helper()
	if string(result) == "null" {
		return // its context has ended, or it was refused
	}
	var in payload
	if err := json.Unmarshal(result, &in); err != nil {
		p.fail("%s: %v", line, err)
	}
	p.lookup(in.Token, line).own++
}

// fromCodex records a line of Codex at the editor.
func (p *play) fromCodex(h receivedLine, in payload, line string) {
	p.t.Helper()
	s := p.lookup(in.Token, line)
	if s.token <= p.atEditor {
		p.fail("out of order: %s", line)
	}
	p.atEditor = s.token
	s.editor++
	if s.id >= 0 && spellingIndex(h.ID) != s.id {
		p.fail("another id: %s", line)
	}
	s.marked = in.Watched > 0
	switch {
	case strings.HasPrefix(h.Method, "ask/"):
		p.received[s.id], p.ids[s.id].inFlight = s, false
	case h.Method == "" && s.id >= 0 && p.ids[s.id].pending > 0:
		p.ids[s.id].pending--
	}
}

// codexReceives records a line that Codex received.
func (p *play) codexReceives(line string) {
	p.t.Helper()
	p.log = append(p.log, "codex< "+line)
	h, in := p.read(line)
	if in.Fence > 0 {
		p.fences["codex"] = in.Fence
		return
	}
	id := spellingIndex(h.ID)
	if in.By != "" { // a reply of the bridge
		if id < 0 {
			p.fail("an answer to nothing: %s", line)
		}
		p.byBridge++
		p.ids[id].byBridge++
		if q := p.serverRequests[id]; q != nil && (q.what == "ask/here" || q.what == "ask/held" || q.what == "ask/either") {
			delete(p.serverRequests, id)
		}
		return
	}
	if h.Method == "own/question" && in.Token != nil && *in.Token < p.first {
		return // its feature gave it up while it waited, and the play before has ended since
	}
	s := p.lookup(in.Token, line)
	if h.Method == "own/question" { // goroutines send these in any order
		if p.ownCodex[string(h.ID)] != nil || !strings.HasPrefix(s.what, "own/ask") || spellingIndex(h.ID) >= 0 {
			p.fail("a question under an id that is used: %s", line)
		}
		p.ownCodex[string(h.ID)] = s
		return
	}
	if h.Method != "" { // responses are not ordered
		if s.token <= p.atCodex {
			p.fail("out of order: %s", line)
		}
		p.atCodex = s.token
	}
	s.codex++
	s.marked = in.Judged > 0
	if s.id >= 0 && id != s.id {
		p.fail("another id: %s", line)
	}
	switch {
	case h.Method == "plain" || h.Method == "watch":
		c := &p.ids[id]
		c.arrived++
		if c.open = append(c.open, s); p.strict && len(c.open) > 1 && !c.strayResponse {
			p.fail("two requests under one id: %s", line)
		}
	case h.Method == "" && id >= 0:
		p.ids[id].answers++
		if q := p.serverRequests[id]; q != nil && q.what != "ask/here" && q.what != "ask/held" {
			delete(p.serverRequests, id)
		}
	}
}
