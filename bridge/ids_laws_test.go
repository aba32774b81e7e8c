package bridge_test

import "fmt"

// check checks the laws for all messages.
func (p *play) check() {
	p.t.Helper()
	for _, s := range p.messages[p.first:] {
		if broken := p.violation(s); broken != "" {
			p.fail("%d, %s: %s; it came to the editor %d times, to codex %d times, and %d times to who had asked in the bridge",
				s.token, s.what, broken, s.editor, s.codex, s.own)
		}
	}
	for id, c := range p.ids {
		for broken, is := range map[string]bool{
			"requests that neither came to codex nor were refused, or both": c.arrived+c.refused != c.requests,
			"requests of the bridge's with other than one answer":           c.ownAsks != c.ownReplies,
			"more answers to codex than it has asked":                       p.strict && c.answers > c.serverRequests,
			"questions that the bridge has not answered, or twice":          c.byBridge < c.mustBridge || c.byBridge > c.canBridge,
		} {
			if is {
				p.fail("the id %s: %s: %s", spellings[id][0], broken, fmt.Sprintf("%+v", c))
			}
		}
	}
}

// violation returns the law that a message violates, or "".
func (p *play) violation(s *record) string {
	var c idState
	if s.id >= 0 {
		c = p.ids[s.id]
	}
	places := func(editor, codex, own int) bool { return s.editor == editor && s.codex == codex && s.own == own }
	switch s.what {
	case "plain", "watch":
		switch {
		case s.codex > 1 || s.editor+s.own > 0:
			return "it came more than once"
		case s.idFree && !c.strayResponse && s.codex != 1:
			return "it was refused, and nothing was under way under its id"
		}
	case "codex answers":
		switch {
		case !places(1, 0, 0):
			return "it is the editor's, once"
		case p.strict && !c.strayResponse && s.marked != s.wantsMark:
			return "who was promised the answer has not seen it, or another has"
		}
	case "editor answers":
		switch {
		case s.editor+s.own > 0 || s.codex > 1 || !p.strict && s.codex != 1:
			return "it is codex's, once"
		case s.wanted && !c.strayAnswer && (s.codex != 1 || s.marked != s.wantsMark):
			return "it is the answer to a question, and has to come to codex by who judges it"
		}
	case "codex answers the bridge":
		if !places(0, 0, 1) && (s.wanted || !places(0, 0, 0)) {
			return "it is the bridge's, once"
		}
	case "editor answers the bridge":
		if !places(0, 0, 1) {
			return "it is the bridge's, once"
		}
	case "editor tells":
		if !places(0, 1, 0) {
			return "it is codex's, once"
		}
	case "codex tells", "ask/plain", "ask/either", "ask/heard":
		if !places(1, 0, 0) {
			return "it is the editor's, once"
		}
	default: // withheld by the bridge
		if !places(0, 0, 0) {
			return "it is nobody's"
		}
	}
	return ""
}
