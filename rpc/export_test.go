package rpc

// Limits for tests.
const (
	MaxMembers     = maxMembers
	MaxNodes       = maxNodes
	MaxCompared    = maxCompared
	PrivatePrefix  = privatePrefix
	MaxHeaderLine  = maxHeaderLine
	MaxHeaderLines = maxHeaderLines
)

// Span returns the offsets of v in its text.
func Span(v Value) (start, end int) {
	n := v.node()
	return int(n.start), int(n.end)
}

// RawKey returns the key of the member v as it is written, with its quotes.
func RawKey(v Value) []byte {
	n := v.node()
	return v.doc.text[n.keyStart-1 : n.keyEnd+1]
}

// NewPumpSize is NewPump with another buffer size, so that a short input can be a long
// line.
func NewPumpSize(out Sink, sieve Filter, taker Handler, max, size int) *Pump {
	return &Pump{out: out, filter: sieve, handler: taker, max: max, buf: make([]byte, size)}
}

// With returns another Pump with the buffer of p.
func (p *Pump) With(out Sink, sieve Filter, taker Handler) *Pump {
	return &Pump{out: out, filter: sieve, handler: taker, max: p.max, buf: p.buf}
}

// MethodNames returns the number of names that p has interned.
func MethodNames(p *Parser) int { return len(p.names) }

// ResponseKey returns the Key of an id as Codex writes it.
func ResponseKey(raw []byte) []byte { return responseKey(raw) }

// PlainLen returns the number of bytes at the start of b that need no escape.
func PlainLen(b []byte) int { return plainLen(b) }

// ParseNodes is ParseValue with another maximum number of values.
func ParseNodes(text []byte, maxNodes int) (*Doc, error) {
	var p parser
	p.reset(text, true, MaxDepth)
	p.maxNodes = maxNodes
	err := p.parse()
	return &p.doc, err
}
