package scripted

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"codex-bridge.example/bridge/store"
)

// Model is the slug that Home sets. Codex knows it, offers apply_patch with it and does not use
// code mode.
const Model = "gpt-5.5"

// Home makes dir a CODEX_HOME whose model is the server at url (Server.URL). extra is TOML at a
// place where top-level keys and tables are allowed; it must not set model, model_provider or the
// provider "mock".
//
// Measured with Codex 0.169.0: Codex warns and creates no helper aliases if CODEX_HOME is in the
// temporary folder, which is $TMPDIR, or /tmp without it. A home in the folder of a test works if
// TMPDIR is not a parent of it; see Env.
func Home(dir, url, extra string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "model = %q\n", Model)
	b.WriteString("model_provider = \"mock\"\n")
	if extra = strings.TrimSpace(extra); extra != "" {
		b.WriteString("\n" + extra + "\n")
	}
	fmt.Fprintf(&b, `
[model_providers.mock]
name = "mock"
base_url = %q
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
`, url+"/v1")
	return os.WriteFile(filepath.Join(dir, "config.toml"), []byte(b.String()), 0o600)
}

// Env returns the additional environment of Codex for the home at dir: CODEX_HOME, and a TMPDIR
// next to the home, which Env creates.
func Env(dir string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	tmp := dir + ".tmp"
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, err
	}
	return []string{"CODEX_HOME=" + dir, "TMPDIR=" + tmp}, nil
}

// Folder creates a new folder outside /tmp and $TMPDIR; the caller removes it. Codex lets commands
// write in temporary folders, and a bridge with an enforced policy does not start if its
// configuration, its state or CODEX_HOME is there.
func Folder(pattern string) (string, error) {
	return newFolder(func(parent string) (string, error) { return os.MkdirTemp(parent, pattern) })
}

// MarkedFolder is Folder for a name with a prefix and this process. It removes the folders with this prefix that earlier
// processes left when they were killed.
func MarkedFolder(prefix string) (string, error) {
	here, err := store.CurrentProcess()
	if err != nil {
		return "", err
	}
	return newFolder(func(parent string) (string, error) {
		here.RemoveEnded(parent, prefix)
		return os.MkdirTemp(parent, prefix+here.Mark()+"-")
	})
}

// newFolder calls create with the folders that may have the new one, until it succeeds.
func newFolder(create func(parent string) (string, error)) (string, error) {
	parents := []string{"/var/tmp"}
	if cache, err := os.UserCacheDir(); err == nil {
		parents = append(parents, cache)
	}
	var errs []error
	for _, parent := range parents {
		if err := store.CheckOutsideTemp(parent); err != nil {
			errs = append(errs, err)
			continue
		}
		folder, err := create(parent)
		if err == nil {
			return filepath.EvalSymlinks(folder)
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no folder outside the temporary folders is writable: %w", errors.Join(errs...))
}
