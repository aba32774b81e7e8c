package bridge_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"codex-bridge/bridge/bridgetest"
)

// spellings are the ids that both sides use, by what they are: those of one row are one id.
var spellings = [][]string{
	{`1`}, {`"1"`, `"\u0031"`}, {`0`, `-0`}, {`-1`}, {`""`}, {`"a"`, `"\u0061"`}, {`"A"`},
	{`9007199254740992`}, {`9007199254740993`}, {`9223372036854775807`}, {`"9223372036854775807"`}, {`"1.0"`},
}

// noIDs are those that codex takes for none.
var noIDs = []string{`1.0`, `1e0`, `1.5`, `9223372036854775808`, `null`, `{}`, `[1]`, `true`}

// play has both sides of a conversation, and a record of all that was said.
type play struct {
	t        *testing.T
	c        *bridgetest.Conversation
	here     *keepsQuestions
	strict   bool
	random   *rand.Rand
	said     []*saying // by token
	begin    int       // the first token of this interleaving
	log      []string  // of this interleaving
	messages int       // of all
	seen     map[string]int

	ids      []tally             // by id
	asked    map[int]*saying     // questions of codex that wait for an answer, by id
	heard    map[int]*saying     // those of them that the editor has heard
	ownCodex map[string]*saying  // what the bridge has asked codex, by id as it stands
	ownHere  map[string]*saying  // what it has asked the editor
	done     map[string][]string // ids of these that were answered, by side
	owed     int                 // answers of the bridge that must come
	byBridge int64               // questions that the bridge has answered
	atEditor int                 // the last token of codex's there
	atCodex  int                 // the last token of a request of the editor's there
	fence    int
	fences   map[string]int // the last that has come, by side
}

// tally is what has become of one id in an interleaving.
type tally struct {
	flying   int       // requests that the editor thinks are under way
	open     []*saying // those that codex has
	requests int
	arrived  int
	refused  int
	stray    bool // codex has answered what it was not asked

	ownAsks, ownReplies int

	unheard     bool // a question is on its way
	questions   int  // for the editor
	answers     int  // of the editor, at codex
	mustBridge  int  // questions that the bridge alone may answer
	canBridge   int
	byBridge    int
	strayAnswer bool // the editor has answered what it was not asked, or codex settled it itself
}

// saying is one message of the two sides. Its place in play.said is its token.
type saying struct {
	token  int
	what   string
	id     int  // of spellings; -1: none
	editor int  // how often the editor got it
	codex  int  // how often codex did
	own    int  // how often it was given to who had asked it in the bridge
	must   bool // of an answer: it is the first one to a question that was heard
	mark   bool // it came with the mark of who was promised it
	marks  bool // it should
	free   bool // of a request: nothing else was under way under its id
}

func newPlay(t *testing.T, c *bridgetest.Conversation, here *keepsQuestions, strict bool) *play {
	return &play{
		t: t, c: c, here: here, strict: strict, seen: map[string]int{}, asked: map[int]*saying{}, heard: map[int]*saying{}, ids: make([]tally, len(spellings)),
		ownCodex: map[string]*saying{}, ownHere: map[string]*saying{}, done: map[string][]string{}, atEditor: -1, atCodex: -1, fences: map[string]int{},
	}
}

// interleave is one conversation of some forty messages: chosen by the seed, and in the order
// that the sides and the bridge come to.
func (p *play) interleave(seed uint64) {
	p.t.Helper()
	p.random, p.log, p.begin = rand.New(rand.NewPCG(seed, 7)), p.log[:0], len(p.said)
	for range 10 + p.random.IntN(30) {
		if p.random.IntN(2) == 0 {
			p.editorActs()
		} else {
			p.codexActs()
		}
		if p.random.IntN(5) == 0 { // one of them has heard all that was said
			p.fencedBy([]string{"editor", "codex"}[p.random.IntN(2)])
		}
		for range p.random.IntN(4) {
			p.hear(false)
		}
	}
	p.settle()
	p.check()
	clear(p.said)
	clear(p.ids)
	clear(p.done)
}

// settle brings everything to its end.
func (p *play) settle() {
	p.t.Helper()
	p.codexSays(`{"method":"release","params":{"t":%d}}`, p.note("codex tells", -1).token)
	for p.owed > 0 {
		if p.answerAll(); p.owed > 0 {
			p.hear(true)
		}
	}
	p.fencedBy("codex") // everything of the editor's has come to codex
	p.answerAll()
	p.fencedBy("editor")
	for p.byBridge < p.here.answered.Load() {
		p.hear(true)
	}
	p.answerAll()
	p.fencedBy("codex")
	for p.undecided() { // a refusal waits for no message of codex's, nor they for it
		p.hear(true)
	}
}

// undecided reports whether a request has neither come to codex nor been refused.
func (p *play) undecided() bool {
	return slices.ContainsFunc(p.ids, func(c tally) bool { return c.arrived+c.refused < c.requests })
}

// answerAll answers what the two sides have heard.
func (p *play) answerAll() {
	for id := range p.ids {
		for len(p.ids[id].open) > 0 {
			p.replies(id)
		}
		if p.heard[id] != nil {
			p.answers(id)
		}
	}
	for len(p.ownCodex) > 0 {
		p.repliesToBridge()
	}
	for len(p.ownHere) > 0 {
		p.answersOwn()
	}
}

// fencedBy sends a line to a side and waits for it there.
func (p *play) fencedBy(side string) {
	p.t.Helper()
	p.fence++
	line := fmt.Sprintf(`{"method":"fence","params":{"fence":%d}}`, p.fence)
	if side == "codex" {
		p.editorSays("%s", line)
	} else {
		p.codexSays("%s", line)
	}
	for p.fences[side] < p.fence {
		p.hear(true)
	}
}

// note makes a saying.
func (p *play) note(what string, id int) *saying {
	s := &saying{token: len(p.said), what: what, id: id}
	p.said = append(p.said, s)
	p.seen[what]++
	return s
}

func (p *play) editorSays(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	p.log = append(p.log, "editor> "+line)
	p.messages++
	p.c.EditorSends(line)
}

func (p *play) codexSays(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	p.log = append(p.log, "codex> "+line)
	p.messages++
	p.c.CodexSends(line)
}

// spelled is one spelling of an id.
func (p *play) spelled(id int) string {
	return spellings[id][p.random.IntN(len(spellings[id]))]
}

// again tells whether a side answers something of the bridge's that it has answered before.
func (p *play) again(side string) bool { return len(p.done[side]) > 0 && p.random.IntN(3) == 0 }

func (p *play) anyID() int { return p.random.IntN(len(spellings)) }

// one is some key of a map, chosen by the seed alone.
func one[K int | string, V any](p *play, m map[K]V) (K, bool) {
	keys := slices.Sorted(maps.Keys(m))
	if len(keys) == 0 {
		var none K
		return none, false
	}
	return keys[p.random.IntN(len(keys))], true
}

func (p *play) editorActs() {
	switch n := p.random.IntN(20); {
	case n < 6:
		p.request([]string{"plain", "watch"}[p.random.IntN(2)], p.anyID())
	case n < 9:
		how := []string{"ask", "request", "ask, given up", "request, given up"}[p.random.IntN(4)]
		id := p.anyID()
		s := p.note("own/ask: "+how, id)
		p.owed++
		p.ids[id].ownAsks++
		p.editorSays(`{"id":%s,"method":"own/ask","params":{"t":%d,"how":%q}}`, p.spelled(id), s.token, how)
	case n < 10:
		p.editorSays(`{"method":"own/stop","params":{"t":%d}}`, p.note("editor tells", -1).token)
	case n < 11:
		p.editorSays(`{"method":"tell","params":{"t":%d}}`, p.note("editor tells", -1).token)
	case n < 15:
		if id, ok := one(p, p.heard); ok {
			p.answers(id)
		}
	case n < 16: // to what was never asked, or has been answered
		id := p.anyID()
		if p.heard[id] == nil {
			p.answers(id)
		}
	case n < 18:
		p.answersOwn()
	case n < 19:
		p.owed++
		p.note("no id", -1)
		p.editorSays(`{"id":%s,"method":"plain","params":{}}`, noIDs[p.random.IntN(len(noIDs))])
	default: // an id of the bridge's own that it has seen, or the next
		if id, ok := one(p, p.ownHere); ok {
			p.guesses(id)
		}
	}
}

func (p *play) request(method string, id int) {
	s, c := p.note(method, id), &p.ids[id]
	s.free = c.flying == 0
	c.flying++
	c.requests++
	p.editorSays(`{"id":%s,"method":%q,"params":{"t":%d}}`, p.spelled(id), method, s.token)
}

// answers answers a question of that id, whether there is one or not.
func (p *play) answers(id int) {
	s := p.note("editor answers", id)
	if q := p.heard[id]; q != nil {
		s.must, s.marks = q.what != "ask/either", q.what == "ask/heard"
		p.ids[id].strayAnswer = p.ids[id].strayAnswer || !s.must // the bridge may have been faster
		delete(p.heard, id)
	} else {
		p.seen["editor answers nothing"]++
		p.ids[id].strayAnswer = true
	}
	p.editorSays(`{"id":%s,%s}`, p.spelled(id), p.outcome(s))
}

// answersOwn answers what the bridge has asked the editor, or has asked before.
func (p *play) answersOwn() {
	if id, ok := one(p, p.ownHere); ok && !p.again("editor") {
		s := p.note("editor answers the bridge", -1)
		s.must = true
		delete(p.ownHere, id)
		p.done["editor"] = append(p.done["editor"], id)
		p.editorSays(`{"id":%s,"result":{"t":%d}}`, id, s.token)
	} else if done := p.done["editor"]; len(done) > 0 {
		s := p.note("editor answers the bridge again", -1)
		p.editorSays(`{"id":%s,"result":{"t":%d}}`, done[p.random.IntN(len(done))], s.token)
	}
}

// guesses uses the ids of the bridge's own that follow one.
func (p *play) guesses(id string) {
	start := strings.LastIndex(id, "-") + 1
	n, err := strconv.Atoi(strings.TrimSuffix(id[start:], `"`))
	if err != nil {
		p.t.Fatalf("an id of the bridge's own: %s", id)
	}
	for i := range 3 {
		p.note("editor guesses", -1)
		p.owed++
		p.editorSays(`{"id":%s%d","method":"plain","params":{}}`, id[:start], n+i)
	}
}

// outcome is a result or an error with the token.
func (p *play) outcome(s *saying) string {
	if p.random.IntN(4) == 0 {
		return fmt.Sprintf(`"error":{"code":7,"message":"no","data":{"t":%d}}`, s.token)
	}
	return fmt.Sprintf(`"result":{"t":%d}`, s.token)
}

func (p *play) codexActs() {
	switch n := p.random.IntN(20); {
	case n < 7:
		if id, ok := p.anyOpen(); ok {
			p.replies(id)
		}
	case n < 8: // again, or to what nobody has asked
		if id := p.anyID(); len(p.ids[id].open) == 0 {
			p.replies(id)
		}
	case n < 12:
		p.repliesToBridge()
	case n < 16:
		p.question()
	case n < 17:
		p.codexSays(`{"method":"tell","params":{"t":%d}}`, p.note("codex tells", -1).token)
	case n < 18:
		s := p.note("need", -1)
		p.owed++
		p.codexSays(`{"method":"need","params":{"t":%d}}`, s.token)
	case n < 19:
		p.codexSays(`{"method":"release","params":{"t":%d}}`, p.note("codex tells", -1).token)
	default:
		if id, ok := one(p, p.asked); ok && !strings.HasPrefix(p.asked[id].what, "ask/h") {
			p.ids[id].strayAnswer = true
			delete(p.asked, id)
			p.codexSays(`{"method":"settled","params":{"requestId":%s,"t":%d}}`, p.spelled(id), p.note("codex tells", -1).token)
		}
	}
}

// question asks the editor. Codex uses no id twice at a time.
func (p *play) question() {
	id := p.anyID()
	c := &p.ids[id]
	if p.asked[id] != nil || p.heard[id] != nil || c.unheard {
		return
	}
	s := p.note([]string{"ask/plain", "ask/here", "ask/held", "ask/either", "ask/heard"}[p.random.IntN(5)], id)
	p.asked[id] = s
	switch s.what {
	case "ask/here", "ask/held":
		c.mustBridge++
		c.canBridge++
	case "ask/either":
		c.canBridge++
		fallthrough
	default:
		c.unheard = true
		c.questions++
	}
	if p.random.IntN(2) == 0 {
		p.codexSays(`{"id":%s,"method":%q,"params":{"t":%d}}`, p.spelled(id), s.what, s.token)
	} else {
		p.codexSays(`{"method":%q,"id":%s,"params":{"t":%d}}`, s.what, p.spelled(id), s.token)
	}
}

// anyOpen is an id under which codex has a request.
func (p *play) anyOpen() (int, bool) {
	from := p.anyID()
	for i := range p.ids {
		if id := (from + i) % len(p.ids); len(p.ids[id].open) > 0 {
			return id, true
		}
	}
	return 0, false
}

// replies answers a request of that id, whether there is one or not.
func (p *play) replies(id int) {
	s, c := p.note("codex answers", id), &p.ids[id]
	if len(c.open) > 0 {
		s.marks = c.open[0].what == "watch"
		c.open = c.open[1:]
	} else {
		p.seen["codex answers nothing"]++
		c.stray = true
	}
	outcome := p.outcome(s)
	if strings.HasPrefix(outcome, `"error"`) && p.random.IntN(2) == 0 {
		p.codexSays(`{%s,"id":%s}`, outcome, p.spelled(id))
		return
	}
	p.codexSays(`{"id":%s,%s}`, p.spelled(id), outcome)
}

func (p *play) repliesToBridge() {
	if id, ok := one(p, p.ownCodex); ok && !p.again("codex") {
		q := p.ownCodex[id]
		s := p.note("codex answers the bridge", -1)
		s.must = !strings.HasSuffix(q.what, "given up")
		delete(p.ownCodex, id)
		p.done["codex"] = append(p.done["codex"], id)
		p.codexSays(`{"id":%s,"result":{"t":%d}}`, id, s.token)
	} else if done := p.done["codex"]; len(done) > 0 {
		s := p.note("codex answers the bridge again", -1)
		id := done[p.random.IntN(len(done))]
		if p.random.IntN(2) == 0 {
			p.codexSays(`{"error":{"code":7,"message":"no","data":{"t":%d}},"id":%s}`, s.token, id)
		} else {
			p.codexSays(`{"id":%s,"result":{"t":%d}}`, id, s.token)
		}
	}
}

// patience is for messages that must come; nothing depends on its length.
const patience = 30 * time.Second

// hear takes one message that has come to either side; with wait it waits for it.
func (p *play) hear(wait bool) {
	p.t.Helper()
	var late <-chan time.Time
	var now chan struct{}
	if wait {
		late = time.After(patience)
	} else {
		now = make(chan struct{})
		close(now)
	}
	select {
	case line := <-p.c.EditorReceives():
		p.editorHears(strings.TrimSuffix(line, "\n"))
	case line := <-p.c.CodexReceives():
		p.codexHears(strings.TrimSuffix(line, "\n"))
	case <-now:
	case <-late:
		p.fail("nothing comes any more; owed %d, own at codex %d, own here %d, asked %d, heard %d", p.owed, len(p.ownCodex), len(p.ownHere), len(p.asked), len(p.heard))
	}
}

func (p *play) fail(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s\n%s", strings.Join(p.log, "\n"), fmt.Sprintf(format, args...))
}
