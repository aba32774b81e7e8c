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

	"codex-bridge.example/bridge/bridgetest"
)

// spellings are the ids that both sides use. Those in one row are equal.
var spellings = [][]string{
	{`1`}, {`"1"`, `"\u0031"`}, {`0`, `-0`}, {`-1`}, {`""`}, {`"a"`, `"\u0061"`}, {`"A"`},
	{`9007199254740992`}, {`9007199254740993`}, {`9223372036854775807`}, {`"9223372036854775807"`}, {`"1.0"`},
}

// noIDs are values that Codex does not accept as ids.
var noIDs = []string{`1.0`, `1e0`, `1.5`, `9223372036854775808`, `null`, `{}`, `[1]`, `true`}

// play has both sides of a conversation, and a record of all messages.
type play struct {
	t        *testing.T
	c        *bridgetest.Conversation
	here     *requestKeeper
	strict   bool
	random   *rand.Rand
	messages []*record // by token
	first    int       // first token of this interleaving
	log      []string  // of this interleaving
	total    int       // messages of all interleavings
	seen     map[string]int

	ids            []idState       // by id
	serverRequests map[int]*record // pending requests of Codex, by id
	received       map[int]*record // those that the editor has received

	ownCodex map[string]*record  // requests of the bridge to Codex, by id as written
	ownHere  map[string]*record  // the same, to the editor
	done     map[string][]string // ids of answered requests of the bridge, by side

	owed     int   // responses of the bridge that must come
	byBridge int64 // requests that the bridge has answered
	atEditor int   // last token of Codex received by the editor
	atCodex  int   // last token of an editor's request received by Codex
	fence    int
	fences   map[string]int // last fence received, by side
}

// idState has the messages with one id in an interleaving.
type idState struct {
	pending       int       // requests that the editor has not got a response to
	open          []*record // requests that Codex has not answered
	requests      int
	arrived       int
	refused       int
	strayResponse bool // Codex has sent an unsolicited response

	ownAsks, ownReplies int

	inFlight       bool // a request of Codex is on its way
	serverRequests int  // received by the editor
	answers        int  // of the editor, received by Codex
	mustBridge     int  // requests that only the bridge may answer
	canBridge      int
	byBridge       int
	strayAnswer    bool // the editor sent an unsolicited response, or Codex resolved the request
}

// record is one message. Its index in play.messages is its token.
type record struct {
	token  int
	what   string
	id     int // index in spellings; -1: none
	editor int // times received by the editor
	codex  int // times received by Codex

	own       int  // times returned in the bridge
	wanted    bool // first response to a received request
	marked    bool // a response handler has marked it
	wantsMark bool // it should be marked
	idFree    bool // no other request with its id was pending
}

func newPlay(t *testing.T, c *bridgetest.Conversation, here *requestKeeper, strict bool) *play {
	return &play{
		t: t, c: c, here: here, strict: strict, seen: map[string]int{}, serverRequests: map[int]*record{}, received: map[int]*record{}, ids: make([]idState, len(spellings)),
		ownCodex: map[string]*record{}, ownHere: map[string]*record{}, done: map[string][]string{}, atEditor: -1, atCodex: -1, fences: map[string]int{},
	}
}

// interleave plays one conversation of some forty messages. The seed chooses them; their order
// also depends on the scheduling of the bridge.
func (p *play) interleave(seed uint64) {
	p.t.Helper()
	p.random, p.log, p.first = rand.New(rand.NewPCG(seed, 7)), p.log[:0], len(p.messages)
	for range 10 + p.random.IntN(30) {
		if p.random.IntN(2) == 0 {
			p.editorActs()
		} else {
			p.codexActs()
		}
		if p.random.IntN(5) == 0 { // now and then one side receives everything
			p.awaitFence([]string{"editor", "codex"}[p.random.IntN(2)])
		}
		for range p.random.IntN(4) {
			p.receive(false)
		}
	}
	p.settle()
	p.check()
	clear(p.messages)
	clear(p.ids)
	clear(p.done)
}

// settle waits until all messages have been handled.
func (p *play) settle() {
	p.t.Helper()
	p.codexSends(`{"method":"release","params":{"t":%d}}`, p.note("codex tells", -1).token)
	for p.owed > 0 {
		if p.answerAll(); p.owed > 0 {
			p.receive(true)
		}
	}
	p.awaitFence("codex") // Codex has received all messages of the editor
	p.answerAll()
	p.awaitFence("editor")
	for p.byBridge < p.here.answered.Load() {
		p.receive(true)
	}
	p.answerAll()
	p.awaitFence("codex")
	for p.undecided() { // an error reply is not ordered with Codex's messages
		p.receive(true)
	}
}

// undecided reports whether a request has neither reached Codex nor been refused.
func (p *play) undecided() bool {
	return slices.ContainsFunc(p.ids, func(c idState) bool { return c.arrived+c.refused < c.requests })
}

// answerAll answers all requests that the two sides have received.
func (p *play) answerAll() {
	for id := range p.ids {
		for len(p.ids[id].open) > 0 {
			p.codexAnswers(id)
		}
		if p.received[id] != nil {
			p.editorAnswers(id)
		}
	}
	for len(p.ownCodex) > 0 {
		p.codexAnswersBridge()
	}
	for len(p.ownHere) > 0 {
		p.editorAnswersBridge()
	}
}

// awaitFence sends a line to a side and waits for it there.
func (p *play) awaitFence(side string) {
	p.t.Helper()
	p.fence++
	line := fmt.Sprintf(`{"method":"fence","params":{"fence":%d}}`, p.fence)
	if side == "codex" {
		p.editorSends("%s", line)
	} else {
		p.codexSends("%s", line)
	}
	for p.fences[side] < p.fence {
		p.receive(true)
	}
}

// note adds a record.
func (p *play) note(what string, id int) *record {
	s := &record{token: len(p.messages), what: what, id: id}
	p.messages = append(p.messages, s)
	p.seen[what]++
	return s
}

func (p *play) editorSends(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	p.log = append(p.log, "editor> "+line)
	p.total++
	p.c.EditorSends(line)
}

func (p *play) codexSends(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	p.log = append(p.log, "codex> "+line)
	p.total++
	p.c.CodexSends(line)
}

// spelled returns one spelling of an id.
func (p *play) spelled(id int) string {
	return spellings[id][p.random.IntN(len(spellings[id]))]
}

// repeats reports whether a side answers a request of the bridge again.
func (p *play) repeats(side string) bool { return len(p.done[side]) > 0 && p.random.IntN(3) == 0 }

func (p *play) anyID() int { return p.random.IntN(len(spellings)) }

// anyKey returns a key of a map that depends only on the seed.
func anyKey[K int | string, V any](p *play, m map[K]V) (K, bool) {
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
		p.editorSends(`{"id":%s,"method":"own/ask","params":{"t":%d,"how":%q}}`, p.spelled(id), s.token, how)
	case n < 10:
		p.editorSends(`{"method":"own/stop","params":{"t":%d}}`, p.note("editor tells", -1).token)
	case n < 11:
		p.editorSends(`{"method":"tell","params":{"t":%d}}`, p.note("editor tells", -1).token)
	case n < 15:
		if id, ok := anyKey(p, p.received); ok {
			p.editorAnswers(id)
		}
	case n < 16: // an unsolicited response
		id := p.anyID()
		if p.received[id] == nil {
			p.editorAnswers(id)
		}
	case n < 18:
		p.editorAnswersBridge()
	case n < 19:
		p.owed++
		p.note("no id", -1)
		p.editorSends(`{"id":%s,"method":"plain","params":{}}`, noIDs[p.random.IntN(len(noIDs))])
	default: // an id that the bridge has used, or will use next
		if id, ok := anyKey(p, p.ownHere); ok {
			p.guessID(id)
		}
	}
}

func (p *play) request(method string, id int) {
	s, c := p.note(method, id), &p.ids[id]
	s.idFree = c.pending == 0
	c.pending++
	c.requests++
	p.editorSends(`{"id":%s,"method":%q,"params":{"t":%d}}`, p.spelled(id), method, s.token)
}

// editorAnswers sends a response with that id, even without a request.
func (p *play) editorAnswers(id int) {
	s := p.note("editor answers", id)
	if q := p.received[id]; q != nil {
		s.wanted, s.wantsMark = q.what != "ask/either", q.what == "ask/heard"
		p.ids[id].strayAnswer = p.ids[id].strayAnswer || !s.wanted // the bridge may have answered first
		delete(p.received, id)
	} else {
		p.seen["editor answers nothing"]++
		p.ids[id].strayAnswer = true
	}
	p.editorSends(`{"id":%s,%s}`, p.spelled(id), p.outcome(s))
}

// editorAnswersBridge answers a request of the bridge, sometimes again.
func (p *play) editorAnswersBridge() {
	if id, ok := anyKey(p, p.ownHere); ok && !p.repeats("editor") {
		s := p.note("editor answers the bridge", -1)
		s.wanted = true
		delete(p.ownHere, id)
		p.done["editor"] = append(p.done["editor"], id)
		p.editorSends(`{"id":%s,"result":{"t":%d}}`, id, s.token)
	} else if done := p.done["editor"]; len(done) > 0 {
		s := p.note("editor answers the bridge again", -1)
		p.editorSends(`{"id":%s,"result":{"t":%d}}`, done[p.random.IntN(len(done))], s.token)
	}
}

// guessID sends messages with the bridge's next ids after one of them.
func (p *play) guessID(id string) {
	start := strings.LastIndex(id, "-") + 1
	n, err := strconv.Atoi(strings.TrimSuffix(id[start:], `"`))
	if err != nil {
		p.t.Fatalf("an id of the bridge's own: %s", id)
	}
	for i := range 3 {
		p.note("editor guesses", -1)
		p.owed++
		p.editorSends(`{"id":%s%d","method":"plain","params":{}}`, id[:start], n+i)
	}
}

// outcome returns a result or an error with the token.
func (p *play) outcome(s *record) string {
	if p.random.IntN(4) == 0 {
		return fmt.Sprintf(`"error":{"code":7,"message":"no","data":{"t":%d}}`, s.token)
	}
	return fmt.Sprintf(`"result":{"t":%d}`, s.token)
}

func (p *play) codexActs() {
	switch n := p.random.IntN(20); {
	case n < 7:
		if id, ok := p.anyOpenID(); ok {
			p.codexAnswers(id)
		}
	case n < 8: // a repeated or unsolicited response
		if id := p.anyID(); len(p.ids[id].open) == 0 {
			p.codexAnswers(id)
		}
	case n < 12:
		p.codexAnswersBridge()
	case n < 16:
		p.serverRequest()
	case n < 17:
		p.codexSends(`{"method":"tell","params":{"t":%d}}`, p.note("codex tells", -1).token)
	case n < 18:
		s := p.note("need", -1)
		p.owed++
		p.codexSends(`{"method":"need","params":{"t":%d}}`, s.token)
	case n < 19:
		p.codexSends(`{"method":"release","params":{"t":%d}}`, p.note("codex tells", -1).token)
	default:
		if id, ok := anyKey(p, p.serverRequests); ok && !strings.HasPrefix(p.serverRequests[id].what, "ask/h") {
			p.ids[id].strayAnswer = true
			delete(p.serverRequests, id)
			p.codexSends(`{"method":"settled","params":{"requestId":%s,"t":%d}}`, p.spelled(id), p.note("codex tells", -1).token)
		}
	}
}

// serverRequest sends the editor a request. Codex does not use an id twice at the same time.
func (p *play) serverRequest() {
	id := p.anyID()
	c := &p.ids[id]
	if p.serverRequests[id] != nil || p.received[id] != nil || c.inFlight {
		return
	}
	s := p.note([]string{"ask/plain", "ask/here", "ask/held", "ask/either", "ask/heard"}[p.random.IntN(5)], id)
	p.serverRequests[id] = s
	switch s.what {
	case "ask/here", "ask/held":
		c.mustBridge++
		c.canBridge++
	case "ask/either":
		c.canBridge++
		fallthrough
	default:
		c.inFlight = true
		c.serverRequests++
	}
	if p.random.IntN(2) == 0 {
		p.codexSends(`{"id":%s,"method":%q,"params":{"t":%d}}`, p.spelled(id), s.what, s.token)
	} else {
		p.codexSends(`{"method":%q,"id":%s,"params":{"t":%d}}`, s.what, p.spelled(id), s.token)
	}
}

// anyOpenID returns an id with which Codex has a request.
func (p *play) anyOpenID() (int, bool) {
	from := p.anyID()
	for i := range p.ids {
		if id := (from + i) % len(p.ids); len(p.ids[id].open) > 0 {
			return id, true
		}
	}
	return 0, false
}

// codexAnswers answers a request with that id, even if there is none.
func (p *play) codexAnswers(id int) {
	s, c := p.note("codex answers", id), &p.ids[id]
	if len(c.open) > 0 {
		s.wantsMark = c.open[0].what == "watch"
		c.open = c.open[1:]
	} else {
		p.seen["codex answers nothing"]++
		c.strayResponse = true
	}
	outcome := p.outcome(s)
	if strings.HasPrefix(outcome, `"error"`) && p.random.IntN(2) == 0 {
		p.codexSends(`{%s,"id":%s}`, outcome, p.spelled(id))
		return
	}
	p.codexSends(`{"id":%s,%s}`, p.spelled(id), outcome)
}

func (p *play) codexAnswersBridge() {
	if id, ok := anyKey(p, p.ownCodex); ok && !p.repeats("codex") {
		q := p.ownCodex[id]
		s := p.note("codex answers the bridge", -1)
		s.wanted = !strings.HasSuffix(q.what, "given up")
		delete(p.ownCodex, id)
		p.done["codex"] = append(p.done["codex"], id)
		p.codexSends(`{"id":%s,"result":{"t":%d}}`, id, s.token)
	} else if done := p.done["codex"]; len(done) > 0 {
		s := p.note("codex answers the bridge again", -1)
		id := done[p.random.IntN(len(done))]
		if p.random.IntN(2) == 0 {
			p.codexSends(`{"error":{"code":7,"message":"no","data":{"t":%d}},"id":%s}`, s.token, id)
		} else {
			p.codexSends(`{"id":%s,"result":{"t":%d}}`, id, s.token)
		}
	}
}

// testTimeout is for messages that must come. No result depends on its length.
const testTimeout = 30 * time.Second

// receive receives one message on either side; with wait it waits for one.
func (p *play) receive(wait bool) {
	p.t.Helper()
	var late <-chan time.Time
	var now chan struct{}
	if wait {
		late = time.After(testTimeout)
	} else {
		now = make(chan struct{})
		close(now)
	}
	select {
	case line := <-p.c.EditorReceives():
		p.editorReceives(strings.TrimSuffix(line, "\n"))
	case line := <-p.c.CodexReceives():
		p.codexReceives(strings.TrimSuffix(line, "\n"))
	case <-now:
	case <-late:
		p.fail("nothing comes any more; owed %d, own at codex %d, own here %d, asked %d, heard %d", p.owed, len(p.ownCodex), len(p.ownHere), len(p.serverRequests), len(p.received))
	}
}

func (p *play) fail(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s\n%s", strings.Join(p.log, "\n"), fmt.Sprintf(format, args...))
}
