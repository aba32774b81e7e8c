package bridge

import "codex-bridge/rpc"

// tapped is a Sink of the client's with a Tap on its messages. Of what nobody wants the Pump
// tells.
type observedSink struct {
	rpc.Sink
	observer Observer
}

// Message implements rpc.Sink.
func (s observedSink) WriteMessage(text []byte) {
	s.observer.Sending(Client, text)
	s.Sink.WriteMessage(text)
}

// tappedStream is tapped for a Sink that takes lines in parts.
type observedStreamer struct {
	rpc.Streamer
	observer Observer
}

// Message implements rpc.Sink.
func (s observedStreamer) WriteMessage(text []byte) {
	s.observer.Sending(Client, text)
	s.Streamer.WriteMessage(text)
}

// tapped puts the Tap on a Sink, if there is one.
func (p *Proxy) observed(s rpc.Sink) rpc.Sink {
	if p.opts.Observer == nil {
		return s
	}
	if stream, ok := s.(rpc.Streamer); ok {
		return observedStreamer{stream, p.opts.Observer}
	}
	return observedSink{s, p.opts.Observer}
}
