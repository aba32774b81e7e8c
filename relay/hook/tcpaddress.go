package hook

import (
	"errors"
	"net"
	"net/netip"
)

// listenTCP listens on an address of the form HOST:PORT, and on no other: without a version of IP, Go listens on
// 0.0.0.0 and a missing host for all addresses of IPv6, too.
func listenTCP(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if host == "" {
		return nil, errors.New("the address names no host; give 127.0.0.1, or 0.0.0.0 for each address of IPv4")
	}
	network := "tcp"
	if ip, err := netip.ParseAddr(host); err == nil { // else a name, of which Go takes one address
		network = "tcp6"
		if ip.Unmap().Is4() {
			network = "tcp4"
		}
	}
	return net.Listen(network, address)
}
