package bridge

import (
	"io"
	"sync/atomic"

	"codex-bridge.example/rpc"
)

// Observer sees all messages in the order in which they are read or written. It does not stop
// forwarded lines from being written in runs. Its methods are called concurrently; they must
// not block or keep the bytes.
type Observer interface {
	// The rpc.Observer sees the lines of Codex that are forwarded to the client.
	rpc.Observer
	// Received is called for other lines, after they were read.
	Received(from Side, line []byte)
	// Sending is called before a line of the other side or of the bridge is written.
	Sending(to Side, line []byte)
}

// observedSink reports the messages that are written to the client outside of the Pump.
type observedSink struct {
	rpc.Sink
	observer Observer
}

// WriteMessage implements rpc.Sink.
func (s observedSink) WriteMessage(text []byte) {
	s.observer.Sending(Client, text)
	s.Sink.WriteMessage(text)
}

// observedStreamer is an observedSink for a Streamer.
type observedStreamer struct {
	rpc.Streamer
	observer Observer
}

// WriteMessage implements rpc.Sink.
func (s observedStreamer) WriteMessage(text []byte) {
	s.observer.Sending(Client, text)
	s.Streamer.WriteMessage(text)
}

// observed adds the Observer to a Sink, if there is one.
func (p *Proxy) observed(s rpc.Sink) rpc.Sink {
	if p.opts.Observer == nil {
		return s
	}
	if stream, ok := s.(rpc.Streamer); ok {
		return observedStreamer{stream, p.opts.Observer}
	}
	return observedSink{s, p.opts.Observer}
}

// ByteCounts counts the bytes read from the two sides. It may be read concurrently.
type ByteCounts struct{ FromClient, FromCodex atomic.Int64 }

// countingReader adds the bytes read to total.
type countingReader struct {
	io.Reader
	total *atomic.Int64
}

func (c countingReader) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.total.Add(int64(n))
	return n, err
}
