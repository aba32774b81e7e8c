package hub

import (
	"errors"
	"io"
	"sync"

	"codex-bridge.example/rpc"
)

// Limits for the requests that joinedRequests keeps. Under a policy codex-bridge serve refuses more.
const (
	maxJoinedRequests = 8192
	maxJoinedID       = 1 << 10 // bytes
)

// joinedRequests are the requests that a client has sent to codex-bridge serve, without a response yet. Its
// methods may be called concurrently. Beyond the limits it keeps no request: that gets no error at the end.
type joinedRequests struct {
	mu     sync.Mutex
	byKey  map[string]joinedRequest
	parser rpc.Parser
	ended  bool
}

type joinedRequest struct {
	id    rpc.ID
	count int // without a policy Codex takes an id that is in use
}

// add adds the message in a line if it is a request. It returns the id of a request that comes too late.
func (r *joinedRequests) add(line []byte) (late rpc.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.parser.Message(line, false)
	if err != nil || m.Kind != rpc.Request {
		return rpc.ID{}
	}
	if r.ended {
		return m.ID.Clone()
	}
	key := m.ID.Key()
	one, known := r.byKey[key]
	if !known && (len(r.byKey) >= maxJoinedRequests || len(m.ID.Raw()) > maxJoinedID) {
		return rpc.ID{}
	}
	if r.byKey == nil {
		r.byKey = make(map[string]joinedRequest)
	}
	if !known {
		one.id = m.ID.Clone()
	}
	one.count++
	r.byKey[key] = one
	return rpc.ID{}
}

// remove removes a request that has a response.
func (r *joinedRequests) remove(id rpc.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := id.Key()
	one, known := r.byKey[key]
	if one.count--; known && one.count > 0 {
		r.byKey[key] = one
	} else {
		delete(r.byKey, key)
	}
}

// end returns the requests that have no response. Later ones are too late.
func (r *joinedRequests) end() (ids []rpc.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for _, one := range r.byKey {
		for range one.count {
			ids = append(ids, one.id)
		}
	}
	r.byKey = nil
	return ids
}

// unanswered is the error for a request that codex-bridge serve has not answered.
func unanswered(id rpc.ID) []byte {
	return rpc.EncodeError(id, rpc.Errorf(rpc.CodeUpstream, "the connection to codex-bridge serve ended before the answer; start codex-bridge again, and resume the thread"))
}

const (
	// joinedStart is how many bytes of a message are read to find the id of a response.
	joinedStart = 4 << 10
	// joinedError is the same for an error response, whose id may be at its end.
	joinedError = 1 << 20
)

// joinedMessage is a message of codex-bridge serve of which the start has been read.
type joinedMessage struct {
	start []byte
	id    rpc.ID // of a response
	end   jsonEnd
}

// readStart reads the start of a message, which is valid until the next call.
func (j *joinedClient) readStart(message io.Reader) (m joinedMessage, err error) {
	n, err := io.ReadFull(message, j.start[:])
	m.start = j.start[:n]
	id, method := rpc.ParsePrefix(m.start)
	if err == nil && method == "" && !id.IsValid() {
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(message, joinedError))
		m.start = append(m.start[:n:n], rest...)
		id, method = rpc.ParsePrefix(m.start)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return m, err
	}
	if method == "" {
		m.id = id
	}
	_, _ = m.end.Write(m.start)
	return m, nil
}

// jsonEnd finds the end of an object: the library for WebSockets takes the end of a connection within a message
// as the end of the message.
type jsonEnd struct {
	depth           int
	inText, escaped bool
	reached         bool
}

// Write implements io.Writer for the text of the object.
func (e *jsonEnd) Write(text []byte) (int, error) {
	for _, c := range text {
		switch {
		case e.escaped:
			e.escaped = false
		case e.inText:
			e.escaped, e.inText = c == '\\', c != '"'
		case c == '"':
			e.inText = true
		case c == '{' || c == '[':
			e.depth++
		case c == '}' || c == ']':
			e.depth--
			e.reached = e.depth == 0
		}
	}
	return len(text), nil
}
