package rpc

// Limits that tests go up to.
const (
	MaxMembers     = maxMembers
	MaxNodes       = maxNodes
	FewMembers     = maxCompared
	PrivatePrefix  = privatePrefix
	MaxHeaderLine  = maxHeaderLine
	MaxHeaderLines = maxHeaderLines
)

// Span is where v stands in the text it was read from.
func Span(v Value) (start, end int) {
	n := v.node()
	return int(n.start), int(n.end)
}

// RawKey is the key of the member v as it is written, with its quotes.
func RawKey(v Value) []byte {
	n := v.node()
	return v.doc.text[n.keyStart-1 : n.keyEnd+1]
}

// NewPumpSize is NewPump with a buffer of another size, so that a short input
// can be a long line.
func NewPumpSize(out Sink, sieve Filter, taker Handler, max, size int) *Pump {
	return &Pump{out: out, filter: sieve, handler: taker, max: max, buf: make([]byte, size)}
}

// With is another Pump with the buffer of p.
func (p *Pump) With(out Sink, sieve Filter, taker Handler) *Pump {
	return &Pump{out: out, filter: sieve, handler: taker, max: p.max, buf: p.buf}
}

// MethodNames is the number of names that p keeps.
func MethodNames(p *Parser) int { return len(p.names) }

// AnswerKey is the Key of an id as Codex writes it.
func ResponseKey(raw []byte) []byte { return responseKey(raw) }

// Plain is the number of bytes from the start of b that need no thought inside a
// JSON string.
func PlainLen(b []byte) int { return plainLen(b) }

// ParseNodes is ParseValue with another bound of the values that are kept.
func ParseNodes(text []byte, most int) (*Doc, error) {
	var p parser
	p.reset(text, true, MaxDepth)
	p.maxNodes = most
	err := p.parse()
	return &p.doc, err
}
