//go:build unix && !loopback

package hook

var CheckPeer = checkPeer
