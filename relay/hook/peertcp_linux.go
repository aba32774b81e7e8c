//go:build !portable && !loopback

package hook

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"codex-bridge.example/relay/hook/ask"
)

// tcpRefusal returns nil: checkTCPPeer finds the process of each client.
func tcpRefusal(func() bool) error { return nil }

// checkTCPPeer returns an error if the peer is on this machine and is not a process of this user that runs
// outside every sandbox. A command in Codex's sandbox can read the file of the token, so the token of a
// process on this machine proves nothing.
//
// Programs below this process are rejected, too: Codex connects for a command in its sandbox where its
// configuration has a network proxy.
func checkTCPPeer(conn net.Conn, _ func() bool) error {
	local, remote, err := addressesOf(conn)
	if err != nil {
		return err
	}
	socket, found, err := findTCPSocket(remote, local)
	if err != nil {
		return err
	}
	if !found {
		if remote.Addr().IsLoopback() || remote.Addr() == local.Addr() {
			return fmt.Errorf("the process that connects from %s is not found on this machine", remote)
		}
		return nil // of another machine
	}
	if socket.uid != os.Geteuid() {
		return fmt.Errorf("the process that connects from %s belongs to user %d, not %d", remote, socket.uid, os.Geteuid())
	}
	holders := holdersOf(socket.inode)
	if len(holders) == 0 {
		return fmt.Errorf("the process that connects from %s can't be read", remote)
	}
	for _, pid := range holders {
		if err := ask.CheckOutsideSandbox(pid); err != nil {
			return err
		}
		if isDescendant(pid, os.Getpid()) {
			return fmt.Errorf("process %d was started by the Codex of this server, or by its commands", pid)
		}
	}
	return nil
}

// addressesOf returns both addresses of a TCP connection.
func addressesOf(conn net.Conn) (local, remote netip.AddrPort, err error) {
	if local, err = netip.ParseAddrPort(conn.LocalAddr().String()); err == nil {
		remote, err = netip.ParseAddrPort(conn.RemoteAddr().String())
	}
	plain := func(a netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
	}
	return plain(local), plain(remote), err
}

// tcpSocket is an entry of the kernel's table of TCP sockets.
type tcpSocket struct {
	uid   int
	inode string
}

// findTCPSocket finds the socket of this machine with these addresses. found is false if the peer is on
// another machine, in another network namespace, or has closed the socket.
func findTCPSocket(local, remote netip.AddrPort) (s tcpSocket, found bool, err error) {
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		s, found, err = findInTable(table, local, remote)
		if found || err != nil && !errors.Is(err, os.ErrNotExist) { // without IPv6 there is one table
			return s, found, err
		}
	}
	return tcpSocket{}, false, nil
}

// The fields of a line of the table, as proc_pid_net(5) has them.
const (
	localField  = 1
	remoteField = 2
	uidField    = 7
	inodeField  = 9
)

func findInTable(path string, local, remote netip.AddrPort) (s tcpSocket, found bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return s, false, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Scan() // the head of the table
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) <= inodeField {
			return s, false, fmt.Errorf("%s has a line of another form: %q", path, lines.Text())
		}
		if parseAddress(fields[localField]) != local || parseAddress(fields[remoteField]) != remote {
			continue
		}
		uid, err := strconv.Atoi(fields[uidField])
		return tcpSocket{uid: uid, inode: fields[inodeField]}, err == nil, err
	}
	return s, false, lines.Err()
}

// parseAddress parses an address of the table: words of four bytes in the order of this machine, and the
// port. It returns the zero value for another text.
func parseAddress(text string) netip.AddrPort {
	words, portText, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(words)
	port, portErr := strconv.ParseUint(portText, 16, 16)
	if err != nil || portErr != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}
	}
	for word := range slices.Chunk(raw, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	address, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(address.Unmap(), uint16(port))
}

// holdersOf returns the processes that have a socket open, as far as this process may look.
func holdersOf(inode string) (pids []int) {
	want := "socket:[" + inode + "]"
	folders, _ := filepath.Glob("/proc/[0-9]*/fd") // the pattern is well formed
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // of another user, or ended
		}
		for _, entry := range entries {
			if target, err := os.Readlink(filepath.Join(folder, entry.Name())); err != nil || target != want {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(folder))); err == nil {
				pids = append(pids, pid)
			}
			break
		}
	}
	return pids
}

// isDescendant reports whether a process was started by another one, or by one that it started. It reports
// true if a parent can't be read.
func isDescendant(pid, of int) bool {
	for pid > 1 {
		if pid == of {
			return true
		}
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return true
		}
		// The name of the program, in parentheses, may have spaces.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			return true
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return true
		}
	}
	return false
}
