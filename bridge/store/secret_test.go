package store_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/store"
)

// No error shows the password of a database, in any spelling.
func TestErrorsHidePassword(t *testing.T) {
	for _, url := range []string{
		"postgres://ada:hunter2@127.0.0.1:1/db",
		"postgres://ada:hunter2@host.invalid/db?connect_timeout=1",
		"postgres://ada@127.0.0.1:1/db?password=hunter2",
		"postgres://ada@127.0.0.1:1/db?sslmode=verify-full&sslkey=/nowhere&sslcert=/nowhere&sslpassword=hunter2",
		"postgres://ada:hunter2@127.0.0.1:1/db?sslmode=hunter2",
		"postgres://ada:hunter2@127.0.0.1:1/db?connect_timeout=hunter2",
		"postgres://ada:hunter2@127.0.0.1:port/db",
		"postgres://ada:hunter2@127.0.0.1:70000/db",
		"postgres://ada:hunter2@[::1/db",
		"postgres://ada:x@hunter2@127.0.0.1:1/db",
		"postgres://ada:x/hunter2@127.0.0.1:1/db",
		"postgres://ada:x?hunter2@127.0.0.1:1/db",
		"postgres://ada:hunter2%zz@127.0.0.1/db",
		"postgres://ada:hunter2 @127.0.0.1:1/db",
		"postgres://ada:%68unter2@127.0.0.1:1/db?target_session_attrs=%68unter2",
		"postgres://ada:hunter2@/db?host=/nowhere/hunter2",
	} {
		s, err := store.Open(t.Context(), store.Options{URL: url})
		if err == nil {
			s.Close()
			t.Errorf("Open(%s) succeeded", url)
			continue
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%v %+v %q", err, err, err)} {
			if strings.Contains(text, "hunter2") || strings.Contains(text, "%68unter2") {
				t.Errorf("the error of %s is %s", url, text)
			}
		}
	}
}
