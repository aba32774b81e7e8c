//go:build linux

package store_test

import (
	"sync"
	"testing"

	"codex-bridge/bridge/store"
	"codex-bridge/bridge/store/postgrestest"
)

// server starts with the first test that needs it.
var server = sync.OnceValues(func() (*postgrestest.Server, error) {
	s, err := postgrestest.Start(postgrestest.Options{})
	if err == nil {
		cleanups = append(cleanups, s.Stop)
	}
	return s, err
})

func init() { backends = append(backends, backend{"postgres", postgresDatabase}) }

func postgresDatabase(t testing.TB) store.Options {
	s, err := server()
	if err != nil {
		t.Fatal(err)
	}
	url, err := s.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return store.Options{URL: url}
}
