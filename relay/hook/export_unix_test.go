//go:build unix

package hook

var CheckPeer = checkPeer
