package server

import "context"

// dialer is how the server of the configuration is reached.
func (s *Server) dialer() func(context.Context) (peer, error) {
	c := s.o.Config
	switch {
	case c.URL != "":
		return func(ctx context.Context) (peer, error) { return s.greet(ctx, s.openWeb) }
	case c.Protocol == "jsonrpc":
		return s.openJSONRPC
	}
	return func(ctx context.Context) (peer, error) { return s.greet(ctx, s.openStdio) }
}
