package hub

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/serve"
)

// The client's error says why the server has refused its connection.
func TestRefusalOfServer(t *testing.T) {
	folder := t.TempDir()
	socket := filepath.Join(folder, "s.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the settings can't be read", http.StatusBadRequest)
	}))
	server.Listener = listener
	server.Start()
	defer server.Close()
	if _, err := dialServe(socket, serve.Settings{Folder: folder}); err == nil || !strings.HasSuffix(err.Error(), ": the settings can't be read") {
		t.Errorf("%v", err)
	}
}
