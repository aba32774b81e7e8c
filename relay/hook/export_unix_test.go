//go:build unix

package hook

// Peer is the user at the other end of a socket.
var Peer = peer
