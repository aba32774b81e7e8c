package hook

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"codex-bridge.example/relay/hook/ask"
)

// minToken is the least length of a token in characters.
const minToken = 20

// ListenTCP listens on an address of the form HOST:PORT. Clients need the token in a file that only the
// user can read. The file is written if it is missing. Clients on this machine must also run outside
// Codex's sandbox, see checkTCPPeer. commandsHaveNetwork reports whether commands in the sandbox may use
// the network; it may be called concurrently. The caller must call Close.
func ListenTCP(address, tokenFile string, commandsHaveNetwork func() bool, log *slog.Logger) (*PrivateListener, error) {
	if err := tcpRefusal(commandsHaveNetwork); err != nil {
		return nil, err
	}
	token, err := readToken(tokenFile)
	if err != nil {
		return nil, fmt.Errorf("the token for ws://%s: %w", address, err)
	}
	l, err := listenTCP(address)
	if err != nil {
		return nil, err
	}
	endpoint := Endpoint{Address: "ws://" + l.Addr().String(), Token: token}
	check := func(peer net.Conn) error { return checkTCPPeer(peer, commandsHaveNetwork) }
	return newPrivateListener(l, endpoint, check, func() {}, log), nil
}

// writeToken writes a new token. It fails if the file exists.
func writeToken(path string) (token string, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	token = rand.Text()
	_, err = file.WriteString(token + "\n")
	return token, errors.Join(err, file.Close())
}

// readToken reads the token in a private file, or writes a new one.
func readToken(path string) (string, error) {
	if err := makePrivateFolder(filepath.Dir(path), privateHint); err != nil {
		return "", err
	}
	err := ask.CheckOwner(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return writeToken(path)
	}
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s must have one word of at least %d characters; remove the file to get a new one", path, minToken)
	}
	return token, nil
}
