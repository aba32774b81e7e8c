package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
)

// MessageKind is the type of a JSON-RPC message.
type MessageKind uint8

// Kinds of messages.
const (
	Request       MessageKind = iota + 1 // method and id
	Notification                         // method without id
	Response                             // id and result
	ErrorResponse                        // id and error
)

// String returns the name of k for logs.
func (k MessageKind) String() string {
	return [...]string{"nothing", "request", "notification", "response", "failure"}[k]
}

// Message is one strictly parsed JSON-RPC message. It aliases its line, and is
// valid until the next call of its Parser.
type Message struct {
	Doc
	Kind   MessageKind
	ID     ID
	Method string
	Params Value // see CheckParams
	Result Value
	Error  Value
}

// CheckParams returns an error unless Params is an object, null or Absent.
//
// Measured with Codex 0.169: it takes an array for an object, its elements in the order of the
// fields. A handler that reads fields by name must not get an array.
func (m *Message) CheckParams() *Error {
	if k := m.Params.Kind(); k != Absent && k != Null && k != Object {
		return Errorf(CodeInvalidParams, "params is %v, but Codex takes an object", k)
	}
	return nil
}

// Bytes returns the line that was parsed, with its line end if it has one.
func (m *Message) Bytes() []byte { return m.text }

// Parser parses a client's messages strictly. It reuses its memory, so a Message is
// valid until the next call. A Parser must not be used concurrently.
type Parser struct {
	p   parser
	msg Message
	// names interns the names of methods and members for one Message at a time.
	names nameCache
}

// Message parses one line. If deep is true it keeps all values, so that Params can be
// examined; otherwise only the members of the envelope. An error is a *MessageError.
func (r *Parser) Message(line []byte, deep bool) (*Message, error) {
	r.p.reset(line, deep, MaxDepth)
	if err := r.p.parse(); err != nil {
		return nil, &MessageError{ID: recoverID(line), Answers: recoverAnswered(line), Err: Errorf(CodeParse,
			"the message is not strict JSON: %v; send one UTF-8 JSON object per line, without duplicate keys", err)}
	}
	r.p.doc.names = &r.names
	r.msg = Message{Doc: r.p.doc}
	if err := r.parseEnvelope(&r.msg); err != nil {
		return nil, &MessageError{ID: requestID(&r.msg), Answers: answeredID(r.msg.Root()), Err: err}
	}
	return &r.msg, nil
}

func (r *Parser) parseEnvelope(m *Message) *Error {
	root := Value{&m.Doc, 0}
	if root.Kind() == Array {
		return Errorf(CodeInvalidRequest, "batches are not supported: Codex drops them without a reply; send one message per line")
	}
	if root.Kind() != Object {
		return Errorf(CodeInvalidRequest, "a JSON-RPC message is an object, not %v", root.Kind())
	}
	id, method := root.Get("id"), root.Get("method")
	m.Params, m.Result, m.Error = root.Get("params"), root.Get("result"), root.Get("error")
	if id.Exists() {
		var ok bool
		if m.ID, ok = ParseID(id); !ok {
			return Errorf(CodeInvalidRequest, "id is %s: Codex takes a 64-bit integer or a string, and drops other ids without a reply", quoteStart(id.Raw()))
		}
	}
	if method.Exists() {
		return r.parseCall(m, method)
	}
	switch {
	case !id.Exists():
		return Errorf(CodeInvalidRequest, "neither method nor id: not a JSON-RPC message")
	case m.Result.Exists() == m.Error.Exists():
		return Errorf(CodeInvalidRequest, "a message without a method is a response and needs either result or error")
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
		return Errorf(CodeInvalidRequest, "a message with a method must not have result or error")
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

// ParseMessage parses one line with a Parser of its own, with deep true.
func ParseMessage(line []byte) (*Message, error) {
	return new(Parser).Message(line, true)
}

// ParseValue parses any JSON text as strictly as a message, but without MaxDepth:
// Codex may send deeper values than it accepts.
func ParseValue(text []byte) (*Doc, error) {
	var p parser
	p.reset(text, true, 1<<20)
	p.maxNodes = maxCodexNodes
	if err := p.parse(); err != nil {
		return nil, err
	}
	return &p.doc, nil
}

// Envelope is a message from Codex with its id and method.
type Envelope struct {
	Doc
	ID     ID
	Method string

	reused bool // the next message overwrites the nodes
}

// ParseEnvelope parses a whole line from Codex, with its members in any order.
func ParseEnvelope(line []byte) (*Envelope, error) {
	e := new(Envelope)
	if err := e.parse(new(parser), line); err != nil {
		return nil, err
	}
	return e, nil
}

// parse parses a line. The Envelope is valid until the next use of the parser.
func (e *Envelope) parse(p *parser, line []byte) error {
	p.reset(line, true, 1<<20)
	p.maxNodes = maxCodexNodes
	if err := p.parse(); err != nil {
		return err
	}
	*e = Envelope{Doc: p.doc}
	root := e.Root()
	e.Method, _ = root.Get("method").Text()
	e.ID, _ = ParseID(root.Get("id"))
	return nil
}

// Clone returns a copy that does not alias the line and the memory that it was parsed with.
func (e *Envelope) Clone() *Envelope {
	c := *e
	c.text, c.ID = bytes.Clone(e.text), e.ID.Clone()
	if e.reused {
		c.nodes, c.reused = slices.Clone(e.nodes), false
	}
	return &c
}

// ParsePrefix returns the id and method in the first bytes of a line from Codex. Either is
// empty if the prefix does not contain it. A response has no method.
func ParsePrefix(line []byte) (ID, string) {
	doc, _ := parseLenient(line)
	root := doc.Root()
	id, _ := ParseID(root.Get("id"))
	if _, err := ParseValue(id.Raw()); err != nil {
		id = ID{} // invalid JSON must not get into a reply
	}
	method, _ := root.Get("method").Text()
	return id.Clone(), method
}

// MessageError is the error for a client's line that is not a strict JSON-RPC message, or is
// too long. Its Err is the error to reply with.
type MessageError struct {
	ID  ID // of the request; not set if it can't be determined
	Err *Error
	// Answers is the id of the other side's request to which the line seems to be the response; not set if the line
	// is no response, or if its id can't be determined.
	Answers ID
}

func (e *MessageError) Error() string { return e.Err.Message }

// Unwrap returns the JSON-RPC error.
func (e *MessageError) Unwrap() error { return e.Err }

// requestID returns the id for the error reply to m, which is set only if m has a method.
// Both sides count their ids from 0: an error with the id of a client's response would
// look like the response to another request.
func requestID(m *Message) ID {
	root := m.Root()
	if root.Kind() != Object || !root.Get("method").Exists() {
		return ID{}
	}
	id, _ := ParseID(root.Get("id"))
	return id.Clone()
}

// recoverID returns the id of a request in a line that does not parse.
func recoverID(line []byte) ID {
	doc, _ := parseLenient(line)
	return validID(requestID(&Message{Doc: *doc}))
}

// validID returns id, or no id if that is invalid JSON, which must not get into a reply.
func validID(id ID) ID {
	if _, err := ParseValue(id.Raw()); err != nil {
		return ID{}
	}
	return id
}

// recoverAnswered returns the id of a response in a line that does not parse. The member result or error must begin
// before the fault: the method of a request may follow it.
func recoverAnswered(line []byte) ID {
	doc, unfinished := parseLenient(line)
	root := doc.Root()
	if unfinished != "result" && unfinished != "error" && !root.Get("result").Exists() && !root.Get("error").Exists() {
		return ID{}
	}
	return validID(answeredID(root))
}

// answeredID returns the id of a message without a method; not set if it has several.
func answeredID(root Value) (id ID) {
	for name, v := range root.Members() {
		switch name {
		case "method":
			return ID{}
		case "id":
			one, ok := ParseID(v)
			if !ok || id.IsValid() && one.Key() != id.Key() {
				return ID{}
			}
			id = one.Clone()
		}
	}
	return id
}

// parseLenient parses a line up to its first syntax error. unfinished is the name of the outermost object's member in
// whose value that is, if any.
func parseLenient(line []byte) (doc *Doc, unfinished string) {
	var p parser
	p.reset(line, false, 1<<16)
	p.lenient = true
	if p.parse() == nil {
		return &p.doc, ""
	}
	if len(p.doc.nodes) == 0 || p.doc.nodes[0].kind != Object {
		return &Doc{}, ""
	}
	if last := len(p.doc.nodes) - 1; last > 0 && isUnfinished(p.doc.nodes[last], len(line)) {
		unfinished = p.doc.key(uint32(last))
		p.doc.nodes = p.doc.nodes[:last]
	}
	p.doc.nodes[0].skip = uint32(len(p.doc.nodes))
	return &p.doc, unfinished
}

// isUnfinished reports whether a text of that length ends inside n. A number at the
// end of the text may be incomplete.
func isUnfinished(n node, length int) bool {
	return n.skip == 0 || n.kind == Number && int(n.end) == length
}

// Encode returns an internal value as JSON, without escapes for HTML. It panics if the value has no JSON form.
func Encode(v any) json.RawMessage {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(text.Bytes())
}

// EncodeResult returns the line of a response with a result, without a line end.
func EncodeResult(id ID, result json.RawMessage) []byte {
	out := append([]byte(`{"id":`), id.Raw()...)
	out = append(out, `,"result":`...)
	out = append(out, result...)
	return append(out, '}')
}

// EncodeError returns the line of an error response, without a line end. If err does not
// wrap an *Error, the code is CodeInternal.
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

// EncodeRequest returns the line of a request, or of a notification if id is not set. The
// line has no line end. If params is nil the member is omitted.
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
