//go:build !portable && !loopback

package hook

import "net/netip"

// FindTCPSocket returns the user and the processes of a socket.
func FindTCPSocket(local, remote netip.AddrPort) (uid int, holders []int, found bool, err error) {
	s, found, err := findTCPSocket(local, remote)
	if found {
		holders = holdersOf(s.inode)
	}
	return s.uid, holders, found, err
}
