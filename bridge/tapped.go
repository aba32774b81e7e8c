package bridge

import "codex-bridge/rpc"

// tapped is a Sink of the client's with a Tap on its messages. Of what nobody wants the Pump
// tells.
type tapped struct {
	rpc.Sink
	tap Tap
}

// Message implements rpc.Sink.
func (s tapped) Message(text []byte) {
	s.tap.Told(Client, text)
	s.Sink.Message(text)
}

// tappedStream is tapped for a Sink that takes lines in parts.
type tappedStream struct {
	rpc.Streamer
	tap Tap
}

// Message implements rpc.Sink.
func (s tappedStream) Message(text []byte) {
	s.tap.Told(Client, text)
	s.Streamer.Message(text)
}

// tapped puts the Tap on a Sink, if there is one.
func (p *Proxy) tapped(s rpc.Sink) rpc.Sink {
	if p.o.Tap == nil {
		return s
	}
	if stream, ok := s.(rpc.Streamer); ok {
		return tappedStream{stream, p.o.Tap}
	}
	return tapped{s, p.o.Tap}
}
