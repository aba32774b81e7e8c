//go:build unix

package hook

// OwnPeer tells whether the user is at the other end of a socket.
var OwnPeer = ownPeer
