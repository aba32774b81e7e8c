package bridge_test

import (
	"encoding/json"
	"slices"
	"strings"
)

// heardLine is a line that came to one of the sides.
type heardLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code int             `json:"code"`
		Data json.RawMessage `json:"data"`
	} `json:"error"`
}

// inside are the members that the sides and the bridge put into params, results and errors.
type inside struct {
	Token   *int            `json:"t"`
	Own     json.RawMessage `json:"own"`
	By      string          `json:"by"`
	Watched int             `json:"watched"`
	Judged  int             `json:"judged"`
	Fence   int             `json:"fence"`
}

func (p *play) read(line string) (heardLine, inside) {
	p.t.Helper()
	var h heardLine
	var in inside
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

// known is the id of a line: its place in spellings, or -1.
func known(id json.RawMessage) int {
	return slices.IndexFunc(spellings, func(all []string) bool { return slices.Contains(all, string(id)) })
}

func (p *play) of(token *int, line string) *saying {
	if token == nil || *token < p.begin || *token >= len(p.said) {
		p.fail("nobody has said %s", line)
	}
	return p.said[*token]
}

// editorHears takes down what came to the editor.
func (p *play) editorHears(line string) {
	p.t.Helper()
	p.log = append(p.log, "editor< "+line)
	h, in := p.read(line)
	id := known(h.ID)
	switch {
	case in.Fence > 0:
		p.fences["editor"] = in.Fence
	case h.Method == "own/question": // the bridge asks
		p.ownHere[string(h.ID)] = p.of(in.Token, line)
	case h.Method == "own/answered" || in.Own != nil && h.Method == "":
		p.ownResult(in.Own, line)
		p.owed--
		if h.Method == "" {
			if id < 0 {
				p.fail("an answer to nothing: %s", line)
			}
			p.ids[id].ownReplies++
		}
	case h.Error != nil && h.Error.Code != 7: // the bridge refuses
		if id >= 0 {
			p.ids[id].refused++
			p.ids[id].flying--
		} else if p.owed--; string(h.ID) != "null" && !strings.HasPrefix(string(h.ID), `"codex-bridge-`) {
			p.fail("a refusal of an id that nobody used: %s", line)
		}
	default:
		p.fromCodex(h, in, line)
	}
}

// ownResult is the answer that the bridge got to a question of its own.
func (p *play) ownResult(result json.RawMessage, line string) {
	p.t.Helper()
	if string(result) == "null" {
		return // given up, or refused
	}
	var in inside
	if err := json.Unmarshal(result, &in); err != nil {
		p.fail("%s: %v", line, err)
	}
	p.of(in.Token, line).own++
}

// fromCodex is a line of codex's at the editor.
func (p *play) fromCodex(h heardLine, in inside, line string) {
	p.t.Helper()
	s := p.of(in.Token, line)
	if s.token <= p.atEditor {
		p.fail("out of order: %s", line)
	}
	p.atEditor = s.token
	s.editor++
	if s.id >= 0 && known(h.ID) != s.id {
		p.fail("another id: %s", line)
	}
	s.mark = in.Watched > 0
	switch {
	case strings.HasPrefix(h.Method, "ask/"):
		p.heard[s.id], p.ids[s.id].unheard = s, false
	case h.Method == "" && s.id >= 0 && p.ids[s.id].flying > 0:
		p.ids[s.id].flying--
	}
}

// codexHears takes down what came to codex.
func (p *play) codexHears(line string) {
	p.t.Helper()
	p.log = append(p.log, "codex< "+line)
	h, in := p.read(line)
	if in.Fence > 0 {
		p.fences["codex"] = in.Fence
		return
	}
	id := known(h.ID)
	if in.By != "" { // the bridge has answered
		if id < 0 {
			p.fail("an answer to nothing: %s", line)
		}
		p.byBridge++
		p.ids[id].byBridge++
		if q := p.asked[id]; q != nil && (q.what == "ask/here" || q.what == "ask/held" || q.what == "ask/either") {
			delete(p.asked, id)
		}
		return
	}
	s := p.of(in.Token, line)
	if h.Method == "own/question" { // in the order of goroutines
		if p.ownCodex[string(h.ID)] != nil || !strings.HasPrefix(s.what, "own/ask") || known(h.ID) >= 0 {
			p.fail("a question under an id that is used: %s", line)
		}
		p.ownCodex[string(h.ID)] = s
		return
	}
	if h.Method != "" { // an answer waits for nothing
		if s.token <= p.atCodex {
			p.fail("out of order: %s", line)
		}
		p.atCodex = s.token
	}
	s.codex++
	s.mark = in.Judged > 0
	if s.id >= 0 && id != s.id {
		p.fail("another id: %s", line)
	}
	switch {
	case h.Method == "plain" || h.Method == "watch":
		c := &p.ids[id]
		c.arrived++
		if c.open = append(c.open, s); p.strict && len(c.open) > 1 && !c.stray {
			p.fail("two requests under one id: %s", line)
		}
	case h.Method == "" && id >= 0:
		p.ids[id].answers++
		if q := p.asked[id]; q != nil && q.what != "ask/here" && q.what != "ask/held" {
			delete(p.asked, id)
		}
	}
}
