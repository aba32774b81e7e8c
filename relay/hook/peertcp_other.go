//go:build !linux || portable || loopback

package hook

import (
	"errors"
	"net"
)

// tcpRefusal returns an error if commands in Codex's sandbox may use the network: on this system the bridge
// can't see whether a client is one, and such a command can read the file of the token.
func tcpRefusal(commandsHaveNetwork func() bool) error {
	if commandsHaveNetwork() {
		return errors.New("clients can't connect while the policy allows commands the network: on this system the bridge can't see whether a client is such a command; set policy.network = false")
	}
	return nil
}

// checkTCPPeer returns an error if the peer may be a command in Codex's sandbox.
func checkTCPPeer(_ net.Conn, commandsHaveNetwork func() bool) error {
	return tcpRefusal(commandsHaveNetwork)
}
