//go:build !portable && !loopback

package hook_test

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"codex-bridge.example/relay/hook"
)

// A process of this user is a client, but not one that the server has started.
func TestTCPPeers(t *testing.T) {
	checkAccepts(t, "accepted")
	checkAccepts(t, "accepted", "network")
	checkAccepts(t, "rejected", "dial")
}

// A connection is found in the kernel's table by its addresses, in both versions of IP.
func TestTCPSocketIsFound(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		target := strings.Replace(l.Addr().String(), "[::]", "127.0.0.1", 1) // of IPv4, at a socket of IPv6
		conn, err := net.Dial("tcp", target)
		if err != nil {
			t.Fatal(err)
		}
		local, remote := netip.MustParseAddrPort(conn.LocalAddr().String()), netip.MustParseAddrPort(conn.RemoteAddr().String())
		uid, holders, found, err := hook.FindTCPSocket(local, remote)
		if err != nil || !found || uid != os.Geteuid() || len(holders) != 1 || holders[0] != os.Getpid() {
			t.Errorf("%s: user %d, processes %v, %v, %v", address, uid, holders, found, err)
		}
		if _, _, found, err := hook.FindTCPSocket(remote, netip.AddrPortFrom(local.Addr(), 1)); found || err != nil {
			t.Errorf("%s: found with another port: %v", address, err)
		}
		conn.Close()
		l.Close()
	}
}
