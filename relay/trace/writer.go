package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/relay/redact"
	"codex-bridge.example/rpc"
)

// Bounds of the state of a conversation.
const (
	maxEarly     = 256  // events before the first thread
	maxPending   = 4096 // requests without a response
	maxOpenFiles = 64
	maxThreads   = 1024
	maxInactive  = 4096 // threads
)

// writer writes the events of one conversation to the files of its threads. A message that is
// forwarded unchanged comes twice, as received and as sent, and is one event.
type writer struct {
	Options
	redactor redact.Redactor
	seq      int64
	received [2]*message        // received and not sent on yet, by bridge.Side
	early    []Event            // before the first thread; each file starts with them
	opening  map[string][]Event // by the id of a request that opens a thread, whose id is unknown yet
	pending  map[string]request // by requestKey
	threads  map[string]*thread
	inactive inactiveThreads
	current  *thread // of the last event with a thread
}

// request is a request that may get a response.
type request struct {
	method, thread, turn string
	approval             bool
	done                 bool // has a response; kept since the response may take a second hop
}

// requestKey identifies a request. The client and Codex count ids independently, and the bridge
// forwards requests under their id, so that the direction belongs to the key.
func requestKey(from, to, id string) string {
	if from == "bridge" {
		from += ">" + to
	}
	return from + " " + id
}

// opposite returns the other side of the bridge.
func opposite(side string) string {
	if side == "client" {
		return "codex"
	}
	return "client"
}

func newWriter(o Options, l Limits) *writer {
	o.Limits = l
	if o.SessionKey == nil {
		o.SessionKey = func(string) string { return "" }
	}
	return &writer{
		Options: o, redactor: redact.New(l.Limits, o.Secrets...), opening: make(map[string][]Event), pending: make(map[string]request), threads: make(map[string]*thread),
	}
}

func (w *writer) write(rec record) {
	switch {
	case rec.decision != nil:
		w.writeDecision(rec.at, *rec.decision)
	case rec.passed != nil:
		w.writePassed(rec.at, *rec.passed)
	case rec.timeout != nil:
		w.writeTimeout(rec.at, *rec.timeout)
	case rec.forwarded:
		w.flush(1 - rec.side)
		w.writeMessage(parse(rec), (1 - rec.side).String(), rec.side.String())
	case rec.received:
		w.flush(rec.side)
		m := parse(rec)
		w.received[rec.side] = m
		if w.isResponseToBridge(m) {
			w.flush(rec.side) // the bridge does not forward it
		}
	default:
		w.writeSent(rec)
	}
}

// isResponseToBridge reports whether a message answers a request of the bridge only.
func (w *writer) isResponseToBridge(m *message) bool {
	if m.method != "" || m.id == "" || w.pending[requestKey("bridge", m.side.String(), m.id)].method == "" {
		return false
	}
	return w.pending[requestKey((1-m.side).String(), "", m.id)].method == ""
}

// flush writes the received message of a side, which the bridge did not forward.
func (w *writer) flush(side bridge.Side) {
	if m := w.received[side]; m != nil {
		w.received[side] = nil
		w.writeMessage(m, side.String(), "bridge")
	}
}

func (w *writer) writeSent(rec record) {
	from := 1 - rec.side
	if m := w.received[from]; m != nil && rec.longLen == m.longLen && bytes.Equal(m.line, rec.line) {
		w.received[from] = nil
		w.writeMessage(m, from.String(), rec.side.String())
		return
	}
	sent := parse(rec)
	for side, m := range w.received {
		if m != nil && (m.id != "" && m.id == sent.id || m.id == "" && m.method != "" && m.method == sent.method) {
			w.flush(bridge.Side(side)) // the message it answers, or was made of, comes before it
		}
	}
	w.writeMessage(sent, "bridge", rec.side.String())
}

// message is a parsed record.
type message struct {
	record
	*rpc.Envelope // nil if the line cannot be parsed
	method, id    string
}

func parse(rec record) *message {
	m := &message{record: rec}
	if rec.longLen > 0 {
		id, method := rpc.ParsePrefix(rec.line)
		m.method = method
		if id.IsValid() {
			m.id = id.Key()
		}
		return m
	}
	e, err := rpc.ParseEnvelope(rec.line)
	if err != nil {
		return m // the event has the number of bytes
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

// writeMessage writes a message from one party to another.
func (w *writer) writeMessage(m *message, from, to string) {
	params, result := m.root().Get("params"), m.root().Get("result")
	e := Event{Type: Message, Time: m.at}
	h := Hop{From: from, To: to}
	var req request
	switch {
	case m.method != "":
		req = request{method: m.method, thread: firstText(params, "threadId", "conversationId"), turn: firstText(params, "turnId", "expectedTurnId")}
		if req.thread == "" {
			req.thread = text(params.Get("thread").Get("id"))
		}
		if req.turn == "" {
			req.turn = text(params.Get("turn").Get("id"))
		}
		req.approval = from != "client" && m.id != "" && (methods.IsForPerson(m.method) || strings.Contains(m.method, "Approval")) // also those of a newer Codex
		if m.id != "" {
			w.addRequest(requestKey(from, to, m.id), req)
		}
	case m.id != "":
		req = w.requestOf(from, to, m.id)
		if req.thread == "" {
			req.thread = text(result.Get("thread").Get("id"))
		}
		if req.turn == "" {
			req.turn = text(result.Get("turn").Get("id"))
		}
	}
	e.ThreadID, e.TurnID = req.thread, req.turn
	e.Type, h.Outcome = classify(m, to, req, params, result)
	switch {
	case m.Envelope == nil:
		h.Elided = max(m.longLen, len(m.line))
	case !w.isFull(req.thread):
		w.redact(&h, m)
	}
	e.Data = w.marshal(h)
	w.route(w.stamp(e), m, req, params, result)
}

// isFull reports whether the file of a thread takes no more events. The state of the thread is
// tracked all the same.
func (w *writer) isFull(thread string) bool {
	t := w.threads[thread]
	return t != nil && t.ended
}

// redact sets the message of h.
func (w *writer) redact(h *Hop, m *message) {
	text, chars, err := w.redactor.Stream(m.line, strings.HasSuffix(strings.ToLower(m.method), "delta"))
	if err != nil {
		h.Elided = len(m.line)
		return
	}
	h.Message, h.Chars = text, chars
}

// firstText returns the first member that is a text, or "".
func firstText(v rpc.Value, names ...string) string {
	for _, name := range names {
		if t := text(v.Get(name)); t != "" {
			return t
		}
	}
	return ""
}

// addRequest keeps a request until its response, and after it while there is room.
func (w *writer) addRequest(key string, req request) {
	if len(w.pending) >= maxPending {
		maps.DeleteFunc(w.pending, func(_ string, r request) bool { return r.done })
	}
	if len(w.pending) >= maxPending {
		clear(w.pending)
	}
	w.pending[key] = req
}

// requestOf returns the request of a response. The bridge may have forwarded the request, and its
// response, unchanged or changed.
func (w *writer) requestOf(from, to, id string) request {
	keys := []string{requestKey(to, from, id), requestKey("bridge", opposite(to), id)}
	if to == "bridge" {
		keys[1] = requestKey(opposite(from), "", id)
	}
	req := w.pending[keys[0]]
	if req.method == "" {
		req = w.pending[keys[1]]
	}
	if to == "bridge" && w.pending[keys[1]].method != "" {
		return req // the other side still waits for the response
	}
	for _, key := range keys {
		if r, ok := w.pending[key]; ok {
			r.done = true
			w.pending[key] = r
		}
	}
	return req
}

// opensThread reports whether a request opens a thread whose id comes with the response.
func opensThread(method string) bool { return method == "thread/start" || method == "thread/fork" }

// deferEvent keeps an event of a request that opens a thread until the response. It returns false
// if there are too many such requests.
func (w *writer) deferEvent(id string, e Event) bool {
	if len(w.opening) >= maxEarly && w.opening[id] == nil {
		return false
	}
	w.opening[id] = append(w.opening[id], w.stamp(e))
	return true
}

// route appends an event to the file of its thread, and updates the state of the thread.
func (w *writer) route(e Event, m *message, req request, params, result rpc.Value) {
	if opensThread(req.method) && m.id != "" {
		if m.method != "" {
			e.ThreadID = ""
			w.deferEvent(m.id, e)
			return
		}
		deferred := w.opening[m.id]
		delete(w.opening, m.id)
		e.ThreadID = text(result.Get("thread").Get("id"))
		for _, d := range deferred {
			d.ThreadID = e.ThreadID
			w.append(d)
		}
	}
	if e.Type == SessionStarted && e.ThreadID != "" {
		t := w.thread(e.ThreadID)
		t.unloaded = false
		for name, to := range map[string]*string{"cwd": &t.workspace, "model": &t.model, "modelProvider": &t.provider} {
			*to = w.redactor.Text(text(result.Get(name)))
		}
	}
	w.append(e)
	if t := w.threads[e.ThreadID]; t != nil && e.ThreadID != "" {
		w.track(t, e, m, params)
	}
}

// append writes an event to the file of its thread. An event without a thread goes to the thread of
// the last event, or, before the first thread, to all files.
func (w *writer) append(e Event) {
	t := w.current
	switch {
	case e.ThreadID != "":
		t = w.thread(e.ThreadID)
		w.current = t
	case t == nil:
		if len(w.early) < maxEarly {
			w.early = append(w.early, w.stamp(e))
		}
		return
	}
	w.appendTo(t, w.stamp(e))
}

// stamp gives an event its number, unless it has one.
func (w *writer) stamp(e Event) Event {
	if e.SourceSeq == 0 {
		w.seq++
		e.SourceSeq = w.seq
	}
	e.TraceID, e.API = w.TraceID, "app-server"
	return e
}

func (w *writer) appendTo(t *thread, e Event) {
	if !t.ended {
		t.seq++
		if session := w.SessionKey(t.id); session != "" {
			t.session = session
		}
		e.SessionKey = t.session
		e.Seq, e.ThreadID, e.Workspace, e.Model, e.Provider = t.seq, t.id, t.workspace, t.model, t.provider
		line, err := e.encode(w.Limits)
		if err == nil {
			err = t.file.write(line, false)
		}
		if err != nil {
			t.ended = true
			w.endFile(t, e, err)
		}
	}
	if t.unloaded {
		w.deactivate(t)
	}
}

// endFile closes a file for good after a failed write. It reports this in the file if that is full,
// and in the log.
func (w *writer) endFile(t *thread, e Event, err error) {
	if errors.Is(err, errFull) {
		e.Type, e.Data = FileFull, w.marshal(map[string]any{"limitBytes": t.file.maxSize})
		line, encodeErr := e.encode(w.Limits)
		if err = encodeErr; err == nil {
			err = t.file.write(line, true)
		}
		w.Log.Warn("a trace file is full; later events of its thread are omitted", "file", t.file.path, "max", t.file.maxSize)
	}
	if err != nil && !errors.Is(err, errFull) {
		w.Log.Error("cannot write a trace", "file", t.file.path, "error", err)
	}
	t.file.closed = true
}

// thread returns the state of a thread, with early events written if it is new.
func (w *writer) thread(id string) *thread {
	t := w.threads[id]
	if t == nil {
		if len(w.threads) >= maxThreads {
			w.deactivateIdle()
		}
		t = w.inactive.take(id)
		isNew := t == nil
		if isNew {
			t = newThread(id, &file{path: filepath.Join(w.Folder, FileName(id)), maxSize: w.Limits.File})
		}
		w.threads[id] = t
		if isNew {
			for _, e := range w.early {
				w.appendTo(t, e)
			}
		}
	}
	if t.file.f == nil {
		w.limitOpenFiles()
	}
	return t
}

// deactivate closes the file of a thread, and keeps less of its state.
func (w *writer) deactivate(t *thread) {
	w.close(t)
	w.inactive.add(t)
	delete(w.threads, t.id)
}

// deactivateIdle deactivates idle threads: a client may name any number of threads, and Codex does
// not report each one that it unloads.
func (w *writer) deactivateIdle() {
	for _, t := range w.threads {
		if t.isIdle() && t != w.current {
			w.deactivate(t)
		}
	}
}

// limitOpenFiles closes all files if maxOpenFiles are open.
func (w *writer) limitOpenFiles() {
	n := 0
	for _, t := range w.threads {
		if t.file.f != nil {
			n++
		}
	}
	if n < maxOpenFiles {
		return
	}
	for _, t := range w.threads {
		w.close(t)
	}
}

func (w *writer) close(t *thread) {
	if err := t.file.close(); err != nil {
		w.Log.Error("cannot close a trace", "file", t.file.path, "error", err)
	}
}

// writeDropped writes how many events were dropped. It returns false if no file takes the event.
func (w *writer) writeDropped(at time.Time, n int64) bool {
	if w.current == nil || w.current.ended {
		return false
	}
	w.append(Event{Type: Dropped, Time: at, Data: w.marshal(map[string]any{"events": n})})
	return true
}

// end ends all threads and closes the files.
func (w *writer) end(at time.Time, dropped int64) {
	w.flush(bridge.Client)
	w.flush(bridge.Codex)
	if dropped > 0 {
		w.writeDropped(at, dropped)
	}
	for _, t := range w.inactive.byID {
		if !t.unloaded {
			w.threads[t.id] = t
		}
	}
	for _, t := range w.threads {
		w.endOpenItems(t, at, "", "the conversation ended")
		if t.turn != "" {
			w.append(Event{Type: ClientClosed, Time: at, ThreadID: t.id, TurnID: t.turn, Data: json.RawMessage("{}")})
		}
		w.append(Event{Type: SessionEnded, Time: at, ThreadID: t.id, Data: json.RawMessage("{}")})
		w.close(t)
	}
}

func (w *writer) marshal(v any) json.RawMessage {
	raw, err := marshal(v)
	if err != nil {
		panic("trace: " + err.Error()) // all values of this package have a JSON form
	}
	return raw
}
