package image

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// TestFeature checks that an invalid request gets an error without a start of Codex. The request of a
// client that does not know the bridge goes to Codex.
func TestFeature(t *testing.T) {
	known := true
	makeFolder := func() (string, func() error, error) { return t.TempDir(), func() error { return nil }, nil }
	f := NewFeature(&Worker{Command: []string{"/nowhere"}, MakeFolder: makeFolder}, config.Default().Image, func() bool { return known })
	c := bridgetest.Start(t, f)
	c.Play("asked", `
editor> {"id":1,"method":"bridge/image/describe","params":{}}
editor< {"id":1,"error":{"code":-32602,"message":"bridge/image/describe: images is nothing, not a list of {dataBase64} or {path}"}}
editor> {"id":2,"method":"bridge/image/describe","params":{"images":[],"prompt":7,"timeoutMs":"1"}}
editor< {"id":2,"error":{"code":-32602,"message":"<text>"}}
editor> {"id":3,"method":"bridge/image/describe","params":{"images":[]}}
editor< {"id":3,"error":{"code":-32602,"message":"bridge/image/describe: there is no image; give 1 to 16"}}
editor> {"id":4,"method":"bridge/image/describe","params":{"images":[{"name":"x"}]}}
editor< {"id":4,"error":{"code":-32602,"message":"bridge/image/describe: images[0]: \"x\": give either dataBase64 or path"}}
editor> {"id":5,"method":"bridge/image/describe","params":{"images":[{"dataBase64":"%"}]}}
editor< {"id":5,"error":{"code":-32602,"message":"<text>"}}
editor> {"id":6,"method":"bridge/image/describe","params":{"images":[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}}
editor< {"id":6,"error":{"code":-32602,"message":"bridge/image/describe: there are 17 images; the maximum is 16. Send several requests"}}
editor> {"id":7,"method":"bridge/image/describe","params":{"images":[{"path":"/dev/zero"}]}}
editor< {"id":7,"error":{"code":-32602,"message":"bridge/image/describe: images[0]: open /dev/zero: it is not a regular file"}}
editor> {"id":8,"method":"bridge/image/describe","params":{"images":[{"dataBase64":"`+webp+`"}]}}
editor< {"id":8,"error":{"code":-32011,"message":"<text>"}}
`)
	known = false
	c.Play("unknown", `
editor> {"id":9,"method":"bridge/image/describe","params":{"images":[]}}
codex<= {"id":9,"method":"bridge/image/describe","params":{"images":[]}}
`)
}

// The timeout of a job includes reading its images.
func TestTimeoutIncludesReadingImages(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString(webp)
	path := filepath.Join(t.TempDir(), "image")
	if err = errors.Join(err, os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	late := errors.New("too late")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if _, err := Open(over, path); !errors.Is(err, late) {
		t.Errorf("it is read all the same: %v", err)
	}
}
