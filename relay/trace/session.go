package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/redact"
	"codex-bridge/rpc"
)

// Bounds of what is kept of a conversation.
const (
	mostEarly   = 256  // events of no thread
	mostAsked   = 4096 // requests without an answer
	mostThreads = 64   // files that are open
	mostLoaded  = 1024 // threads, of which others are put aside
	mostPast    = 4096 // of those that are, or that codex has no more
)

// session is a conversation between a client and a codex, taken apart by threads. What
// passes unchanged comes twice, once heard and once told, and is one event.
type session struct {
	Options
	redactor redact.Redactor
	seq      int64
	held     [2]*message // heard, and not handed on yet; by bridge.Side
	early    []Event     // before the first thread; each file begins with them
	opening  map[string][]opened
	asked    map[string]asked // requests by asker
	threads  map[string]*thread
	past     past
	current  *thread
}

// opened is a request that opens a thread whose id is not known yet.
type opened struct {
	e Event
}

// asked is what is known of a request when its answer comes.
type asked struct {
	method, thread, turn string
	approval             bool
	answered             bool // it is kept for a while all the same: an answer may come in two hops
}

// asker names a request among all. Client and codex count their ids each for itself, and what
// the bridge hands on to one of them has the other's: the way is a part of the name.
func asker(from, to, id string) string {
	if from == "bridge" {
		from += ">" + to
	}
	return from + " " + id
}

// other is who is on the other side of the bridge.
func other(side string) string {
	if side == "client" {
		return "codex"
	}
	return "client"
}

func newSession(o Options, l Limits) *session {
	o.Limits = l
	if o.SessionKey == nil {
		o.SessionKey = func(string) string { return "" }
	}
	return &session{
		Options: o, redactor: redact.New(l.Limits, o.Secrets...), opening: make(map[string][]opened), asked: make(map[string]asked), threads: make(map[string]*thread),
	}
}

func (s *session) take(t told) {
	switch {
	case t.decision != nil:
		s.decided(t.at, *t.decision)
	case t.timeout != nil:
		s.timedOut(t.at, *t.timeout)
	case t.passed:
		s.flush(1 - t.party)
		s.hop(read(t), (1 - t.party).String(), t.party.String())
	case t.heard:
		s.flush(t.party)
		m := read(t)
		s.held[t.party] = m
		if s.ours(m) {
			s.flush(t.party) // nobody else will hear it
		}
	default:
		s.told(t)
	}
}

// ours tells whether a message answers a request of the bridge's own.
func (s *session) ours(m *message) bool {
	if m.method != "" || m.id == "" || s.asked[asker("bridge", m.party.String(), m.id)].method == "" {
		return false
	}
	return s.asked[asker((1-m.party).String(), "", m.id)].method == ""
}

// flush writes what was heard and ends at the bridge.
func (s *session) flush(p bridge.Side) {
	if m := s.held[p]; m != nil {
		s.held[p] = nil
		s.hop(m, p.String(), "bridge")
	}
}

func (s *session) told(t told) {
	from := 1 - t.party
	if h := s.held[from]; h != nil && t.long == h.long && bytes.Equal(h.line, t.line) {
		s.held[from] = nil
		s.hop(h, from.String(), t.party.String())
		return
	}
	m := read(t)
	for p, h := range s.held {
		if h != nil && (h.id != "" && h.id == m.id || h.id == "" && h.method != "" && h.method == m.method) {
			s.flush(bridge.Side(p)) // what it answers, or was made of, stands before it
		}
	}
	s.hop(m, "bridge", t.party.String())
}

// message is a line, and what of it tells where it belongs.
type message struct {
	told
	*rpc.Envelope
	method, id string
}

func read(t told) *message {
	m := &message{told: t}
	if t.long > 0 {
		id, method := rpc.ParsePrefix(t.line)
		m.method = method
		if id.IsValid() {
			m.id = id.Key()
		}
		return m
	}
	e, err := rpc.ParseEnvelope(t.line)
	if err != nil {
		return m // told as what it is: so many bytes that can't be read
	}
	m.Envelope, m.method = e, e.Method
	if e.ID.IsValid() {
		m.id = e.ID.Key()
	}
	return m
}

func (m *message) root() rpc.Value {
	if m.Envelope == nil {
		return rpc.Value{}
	}
	return m.Root()
}

func text(v rpc.Value) string {
	s, _ := v.Text()
	return s
}

// hop writes one message on its way from one to another.
func (s *session) hop(m *message, from, to string) {
	params, result := m.root().Get("params"), m.root().Get("result")
	e := Event{Type: Message, Time: m.at}
	h := Hop{From: from, To: to}
	var of asked
	switch {
	case m.method != "":
		of = asked{method: m.method, thread: firstOf(params, "threadId", "conversationId"), turn: firstOf(params, "turnId", "expectedTurnId")}
		if of.thread == "" {
			of.thread = text(params.Get("thread").Get("id"))
		}
		if of.turn == "" {
			of.turn = text(params.Get("turn").Get("id"))
		}
		of.approval = from != "client" && m.id != "" && (strings.Contains(m.method, "Approval") || m.method == "mcpServer/elicitation/request" || m.method == "item/tool/requestUserInput")
		if m.id != "" {
			s.note(asker(from, to, m.id), of)
		}
	case m.id != "":
		of = s.answered(from, to, m.id)
		if of.thread == "" {
			of.thread = text(result.Get("thread").Get("id"))
		}
		if of.turn == "" {
			of.turn = text(result.Get("turn").Get("id"))
		}
	}
	e.ThreadID, e.TurnID = of.thread, of.turn
	e.Type, h.Outcome = classify(m, to, of, params, result)
	switch {
	case m.Envelope == nil:
		h.Elided = max(m.long, len(m.line))
	case !s.full(of.thread):
		s.message(&h, m)
	}
	e.Data = s.marshal(h)
	s.place(s.number(e), m, of, params, result)
}

// full tells whether the file of a thread takes no more. The account of what has begun and
// ended goes on.
func (s *session) full(thread string) bool {
	t := s.threads[thread]
	return t != nil && t.ended
}

// message is what is written of a message.
func (s *session) message(h *Hop, m *message) {
	text, chars, err := s.redactor.Stream(m.line, strings.HasSuffix(strings.ToLower(m.method), "delta"))
	if err != nil {
		h.Elided = len(m.line)
		return
	}
	h.Message, h.Chars = text, chars
}

func firstOf(v rpc.Value, names ...string) string {
	for _, name := range names {
		if t := text(v.Get(name)); t != "" {
			return t
		}
	}
	return ""
}

// note keeps a request until its answer comes, and beyond that while there is room.
func (s *session) note(key string, of asked) {
	if len(s.asked) >= mostAsked {
		maps.DeleteFunc(s.asked, func(_ string, a asked) bool { return a.answered })
	}
	if len(s.asked) >= mostAsked {
		clear(s.asked)
	}
	s.asked[key] = of
}

// answered is the request that an answer is to. The bridge may have handed it on as it was, or
// in other words, and so the answer.
func (s *session) answered(from, to, id string) asked {
	keys := []string{asker(to, from, id), asker("bridge", other(to), id)}
	if to == "bridge" {
		keys[1] = asker(other(from), "", id)
	}
	of := s.asked[keys[0]]
	if of.method == "" {
		of = s.asked[keys[1]]
	}
	if to == "bridge" && s.asked[keys[1]].method != "" {
		return of // another waits for it still
	}
	for _, key := range keys {
		if a, ok := s.asked[key]; ok {
			a.answered = true
			s.asked[key] = a
		}
	}
	return of
}

// opens tells whether a request opens a thread that it does not name.
func opens(method string) bool { return method == "thread/start" || method == "thread/fork" }

// opens keeps an event of a request that opens a thread until the thread has its id.
func (s *session) opens(id string, e Event) bool {
	if len(s.opening) >= mostEarly && s.opening[id] == nil {
		return false
	}
	s.opening[id] = append(s.opening[id], opened{s.number(e)})
	return true
}

// place gives an event to the files of the threads that it belongs to.
func (s *session) place(e Event, m *message, of asked, params, result rpc.Value) {
	if opens(of.method) && m.id != "" {
		if m.method != "" {
			e.ThreadID = ""
			s.opens(m.id, e)
			return
		}
		before := s.opening[m.id]
		delete(s.opening, m.id)
		e.ThreadID = text(result.Get("thread").Get("id"))
		for _, o := range before {
			o.e.ThreadID = e.ThreadID
			s.append(o.e)
		}
	}
	if e.Type == SessionStarted && e.ThreadID != "" {
		t := s.thread(e.ThreadID)
		t.unloaded = false
		t.workspace, t.model, t.provider = text(result.Get("cwd")), text(result.Get("model")), text(result.Get("modelProvider"))
	}
	s.append(e)
	if t := s.threads[e.ThreadID]; t != nil && e.ThreadID != "" {
		s.follow(t, e, m, params)
	}
}

// append writes an event to its thread; one of no thread to the one that was spoken of
// last, or to all that come.
func (s *session) append(e Event) {
	t := s.current
	switch {
	case e.ThreadID != "":
		t = s.thread(e.ThreadID)
		s.current = t
	case t == nil:
		if len(s.early) < mostEarly {
			s.early = append(s.early, s.number(e))
		}
		return
	}
	s.write(t, s.number(e))
}

// number names an event. One that is written later keeps the number of its time.
func (s *session) number(e Event) Event {
	if e.SourceSeq == 0 {
		s.seq++
		e.SourceSeq = s.seq
	}
	e.TraceID, e.API = s.TraceID, "app-server"
	return e
}

func (s *session) write(t *thread, e Event) {
	if !t.ended {
		t.seq++
		if session := s.SessionKey(t.id); session != "" {
			t.session = session
		}
		e.SessionKey = t.session
		e.Seq, e.ThreadID, e.Workspace, e.Model, e.Provider = t.seq, t.id, t.workspace, t.model, t.provider
		line, err := e.encode(s.Limits)
		if err == nil {
			err = t.file.write(line, false)
		}
		if err != nil {
			t.ended = true
			s.giveUp(t, e, err)
		}
	}
	if t.unloaded {
		s.close(t)
		s.past.add(t)
		delete(s.threads, t.id)
	}
}

// giveUp ends a file that takes no more, and says so: in it, or in the log.
func (s *session) giveUp(t *thread, e Event, err error) {
	if errors.Is(err, errFull) {
		e.Type, e.Data = Full, s.marshal(map[string]any{"limitBytes": t.file.most})
		line, encodeErr := e.encode(s.Limits)
		if err = encodeErr; err == nil {
			err = t.file.write(line, true)
		}
		s.Log.Warn("a trace is full; what follows is not in it", "file", t.file.path, "max", t.file.most)
	}
	if err != nil && !errors.Is(err, errFull) {
		s.Log.Error("a trace can't be written", "file", t.file.path, "error", err)
	}
	t.file.closed = true
}

func (s *session) thread(id string) *thread {
	t := s.threads[id]
	if t == nil {
		if len(s.threads) >= mostLoaded {
			s.putAside()
		}
		before := s.past.take(id)
		if t = before; t == nil {
			t = newThread(id, &file{path: filepath.Join(s.Folder, FileName(id)), most: s.Limits.File})
		}
		s.threads[id] = t
		if before == nil {
			for _, e := range s.early {
				s.write(t, e)
			}
		}
	}
	if t.file.f == nil {
		s.closeSome()
	}
	return t
}

// putAside keeps less of the threads that wait for nothing: a client may speak of any number,
// and codex does not say of all when it has them no more.
func (s *session) putAside() {
	for id, t := range s.threads {
		if t.idle() && t != s.current {
			s.close(t)
			s.past.add(t)
			delete(s.threads, id)
		}
	}
}

// closeSome closes the files when too many are open.
func (s *session) closeSome() {
	n := 0
	for _, t := range s.threads {
		if t.file.f != nil {
			n++
		}
	}
	if n < mostThreads {
		return
	}
	for _, t := range s.threads {
		s.close(t)
	}
}

func (s *session) close(t *thread) {
	if err := t.file.close(); err != nil {
		s.Log.Error("a trace was not closed in good order", "file", t.file.path, "error", err)
	}
}

func (s *session) decided(at time.Time, d store.Decision) {
	raw, err := s.redactor.JSON(s.marshal(map[string]any{
		"method": d.Method, "mode": d.Mode, "verdict": d.Verdict, "rule": d.Rule, "reason": d.Reason, "origin": d.Origin, "fields": d.Fields,
	}))
	if err != nil {
		s.Log.Error("a decision can't be traced", "error", err)
		return
	}
	e := Event{Type: Decided, Time: at, ThreadID: d.Thread, TurnID: d.Turn, Data: raw}
	if m := s.held[bridge.Client]; d.Thread == "" && opens(d.Method) && m != nil && m.method == d.Method && s.opens(m.id, e) {
		return
	}
	s.append(e)
}

// timedOut writes that a tool had no result in time.
func (s *session) timedOut(at time.Time, t Timeout) {
	s.append(Event{Type: ToolTimeout, Time: at, ThreadID: t.Thread, TurnID: t.Turn, Data: s.marshal(map[string]any{
		"callId": t.Call, "tool": t.Tool, "timeoutMs": t.After.Milliseconds(),
	})})
}

// droppedEvents tells of events that were not written; false: there is no file yet, or none
// that takes more.
func (s *session) droppedEvents(at time.Time, n int64) bool {
	if s.current == nil || s.current.ended {
		return false
	}
	s.append(Event{Type: Dropped, Time: at, Data: s.marshal(map[string]any{"events": n})})
	return true
}

// end ends all threads.
func (s *session) end(at time.Time, dropped int64) {
	s.flush(bridge.Client)
	s.flush(bridge.Codex)
	if dropped > 0 {
		s.droppedEvents(at, dropped)
	}
	for _, t := range s.past.of {
		if !t.unloaded {
			s.threads[t.id] = t
		}
	}
	for _, t := range s.threads {
		s.finish(t, at, "", "the conversation ended")
		if t.turn != "" {
			s.append(Event{Type: ClientClosed, Time: at, ThreadID: t.id, TurnID: t.turn, Data: json.RawMessage("{}")})
		}
		s.append(Event{Type: SessionEnded, Time: at, ThreadID: t.id, Data: json.RawMessage("{}")})
		s.close(t)
	}
}

func (s *session) marshal(v any) json.RawMessage {
	raw, err := marshal(v)
	if err != nil {
		panic("trace: " + err.Error()) // our own values always have a JSON form
	}
	return raw
}
