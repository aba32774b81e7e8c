package hook

import (
	"log/slog"
	"net"

	"codex-bridge.example/relay/hook/ask"
)

// Internals that the tests compare with or change.
var (
	CommandLine = commandLine
)

const (
	MaxNodes      = maxNodes
	MaxDepth      = maxDepth
	TokenName     = ask.TokenName
	MaxStartupAge = maxStartupAge
	MaxChecks     = maxChecks
)

// NewPrivateListener returns a listener without an endpoint that accepts the connections of l that pass check.
func NewPrivateListener(l net.Listener, check func(net.Conn) error, log *slog.Logger) *PrivateListener {
	return newPrivateListener(l, Endpoint{}, check, func() {}, log)
}
