package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// MessageKind is what a message is in JSON-RPC.
type MessageKind uint8

// The kinds of a message.
const (
	Request       MessageKind = iota + 1 // method and id
	Notification                         // method, no id
	Response                             // id and result
	ErrorResponse                        // id and error
)

// String is the kind as logs name it.
func (k MessageKind) String() string {
	return [...]string{"nothing", "request", "notification", "response", "failure"}[k]
}

// Message is one strictly parsed JSON-RPC message. It aliases its line and is
// valid until the Parser that made it is used again.
type Message struct {
	Doc
	Kind   MessageKind
	ID     ID
	Method string
	Params Value // an object, null or Absent
	Result Value
	Error  Value
}

// Bytes is the line as the Parser got it, with its line end if it has one.
func (m *Message) Bytes() []byte { return m.text }

// Parser reads a client's messages strictly. It reuses its memory: a Message is
// valid until the next call. It belongs to one goroutine.
type Parser struct {
	p   parser
	msg Message
	// names are those of methods and members. A Message that outlives the Parser's
	// next call was never valid, so nobody else reads them meanwhile.
	names nameCache
}

// Message reads one line. With deep it keeps all values of the text, so that
// Params can be looked into; without, only the envelope's.
//
// An error is a *RefusedLine: its Reply is what the client is to be told.
func (r *Parser) Message(line []byte, deep bool) (*Message, error) {
	r.p.reset(line, deep, MaxDepth)
	if err := r.p.parse(); err != nil {
		return nil, &MessageError{ID: recoverID(line), Err: Errorf(CodeParse,
			"the message is not strict JSON: %v; send one UTF-8 JSON object a line, without duplicate keys", err)}
	}
	r.p.doc.names = &r.names
	r.msg = Message{Doc: r.p.doc}
	if err := r.parseEnvelope(&r.msg); err != nil {
		return nil, &MessageError{ID: requestID(&r.msg), Err: err}
	}
	return &r.msg, nil
}

func (r *Parser) parseEnvelope(m *Message) *Error {
	root := Value{&m.Doc, 0}
	if root.Kind() == Array {
		return Errorf(CodeInvalidRequest, "a batch: Codex drops it without a reply; send one message a line")
	}
	if root.Kind() != Object {
		return Errorf(CodeInvalidRequest, "%v where a JSON-RPC message, an object, should stand", root.Kind())
	}
	id, method := root.Get("id"), root.Get("method")
	m.Params, m.Result, m.Error = root.Get("params"), root.Get("result"), root.Get("error")
	if id.Exists() {
		var ok bool
		if m.ID, ok = ParseID(id); !ok {
			return Errorf(CodeInvalidRequest, "id is %s: Codex takes a 64-bit integer or a string, and drops the rest without a reply", clip(id.Raw()))
		}
	}
	if method.Exists() {
		return r.parseCall(m, method)
	}
	switch {
	case !id.Exists():
		return Errorf(CodeInvalidRequest, "neither method nor id: not a JSON-RPC message")
	case m.Result.Exists() == m.Error.Exists():
		return Errorf(CodeInvalidRequest, "a message without a method is an answer and needs either result or error")
	case m.Result.Exists():
		m.Kind = Response
	case m.Error.Kind() != Object:
		return Errorf(CodeInvalidRequest, "error is %v, not an object with code and message", m.Error.Kind())
	default:
		m.Kind = ErrorResponse
	}
	return nil
}

func (r *Parser) parseCall(m *Message, method Value) *Error {
	if method.Kind() != String {
		return Errorf(CodeInvalidRequest, "method is %v, not a string", method.Kind())
	}
	if m.Result.Exists() || m.Error.Exists() {
		return Errorf(CodeInvalidRequest, "both a call and an answer: method beside result or error")
	}
	if k := m.Params.Kind(); k != Absent && k != Null && k != Object {
		// Measured: Codex takes an array for an object, its elements in the order
		// of the fields. What has no names can't be decided upon.
		return Errorf(CodeInvalidParams, "params is %v; Codex's methods take an object", k)
	}
	if raw := method.Raw(); bytes.IndexByte(raw, '\\') < 0 {
		m.Method = r.names.intern(raw[1 : len(raw)-1])
	} else {
		m.Method, _ = method.Text()
	}
	m.Kind = Notification
	if m.ID.IsValid() {
		m.Kind = Request
	}
	return nil
}

// ParseMessage is Parser.Message for a line that is read once.
func ParseMessage(line []byte) (*Message, error) {
	return new(Parser).Message(line, true)
}

// ParseValue reads any JSON text as strictly as a message, but as deep as it is:
// what Codex sends may be deeper than what it takes.
func ParseValue(text []byte) (*Doc, error) {
	var p parser
	p.reset(text, true, 1<<20)
	p.maxNodes = maxCodexNodes
	if err := p.parse(); err != nil {
		return nil, err
	}
	return &p.doc, nil
}

// Envelope is what a line of Codex says around its payload.
type Envelope struct {
	Doc
	ID     ID
	Method string
}

// Open reads a whole line of Codex, of any form.
func ParseEnvelope(line []byte) (*Envelope, error) {
	var p parser
	p.reset(line, true, 1<<20)
	p.maxNodes = maxCodexNodes
	if err := p.parse(); err != nil {
		return nil, err
	}
	e := &Envelope{Doc: p.doc}
	root := e.Root()
	e.Method, _ = root.Get("method").Text()
	e.ID, _ = ParseID(root.Get("id"))
	return e, nil
}

// Clone is an Envelope that does not alias the line it was read from.
func (e *Envelope) Clone() *Envelope {
	c := *e
	c.text = bytes.Clone(e.text)
	c.ID = e.ID.Clone()
	return &c
}

// Start returns the id and the method that the first bytes of a line of Codex tell, when the rest is
// lost. An answer has no method.
func ParsePrefix(line []byte) (ID, string) {
	root := parseLenient(line).Root()
	id, _ := ParseID(root.Get("id"))
	if _, err := ParseValue(id.Raw()); err != nil {
		id = ID{} // not to be written into a reply
	}
	method, _ := root.Get("method").Text()
	return id.Clone(), method
}

// RefusedLine is a line of a client that is no strict JSON-RPC message.
type MessageError struct {
	ID  ID // of the request, when one can be read
	Err *Error
}

func (e *MessageError) Error() string { return e.Err.Message }

// Unwrap is the JSON-RPC error.
func (e *MessageError) Unwrap() error { return e.Err }

// requestID is the id to answer a refused message with: only that of a call.
// An error that carried the id of a client's answer would be taken for the
// answer to another request, since both sides count from 0.
func requestID(m *Message) ID {
	root := m.Root()
	if root.Kind() != Object || !root.Get("method").Exists() {
		return ID{}
	}
	id, _ := ParseID(root.Get("id"))
	return id.Clone()
}

// salvage returns the id of a call in a line that does not parse.
func recoverID(line []byte) ID {
	id := requestID(&Message{Doc: *parseLenient(line)})
	if _, err := ParseValue(id.Raw()); err != nil {
		return ID{} // not to be written into a reply
	}
	return id
}

// beforeBreak parses a line up to the place where it is no JSON any more.
func parseLenient(line []byte) *Doc {
	var p parser
	p.reset(line, false, 1<<16)
	p.lenient = true
	if p.parse() == nil {
		return &p.doc
	}
	if len(p.doc.nodes) == 0 || p.doc.nodes[0].kind != Object {
		return &Doc{}
	}
	if last := len(p.doc.nodes) - 1; last > 0 && isUnfinished(p.doc.nodes[last], len(line)) {
		p.doc.nodes = p.doc.nodes[:last]
	}
	p.doc.nodes[0].skip = uint32(len(p.doc.nodes))
	return &p.doc
}

// unfinished tells whether a text of that length breaks off inside n. A number
// that it ends with may have gone on.
func isUnfinished(n node, length int) bool {
	return n.skip == 0 || n.kind == Number && int(n.end) == length
}

// Reply is the line that answers a request with a result.
func EncodeResult(id ID, result json.RawMessage) []byte {
	out := append([]byte(`{"id":`), id.Raw()...)
	out = append(out, `,"result":`...)
	out = append(out, result...)
	return append(out, '}')
}

// ReplyError is the line that answers a request with an error. err may be any
// error; one that is no *Error is an internal one.
func EncodeError(id ID, err error) []byte {
	var e *Error
	if !errors.As(err, &e) {
		e = Errorf(CodeInternal, "%v", err)
	}
	out := strconv.AppendInt([]byte(`{"error":{"code":`), int64(e.Code), 10)
	out = appendQuoted(append(out, `,"message":`...), e.Message)
	if len(e.Data) > 0 {
		out = append(append(out, `,"data":`...), e.Data...)
	}
	out = append(append(out, `},"id":`...), id.Raw()...)
	return append(out, '}')
}

// Call is the line of a request; without an id, of a notification.
func EncodeRequest(id ID, method string, params json.RawMessage) []byte {
	out := []byte{'{'}
	if id.IsValid() {
		out = append(append(append(out, `"id":`...), id.Raw()...), ',')
	}
	out = appendQuoted(append(out, `"method":`...), method)
	if params != nil {
		out = append(append(out, `,"params":`...), params...)
	}
	return append(out, '}')
}
