//go:build linux

package main

import (
	"context"
	"testing"

	"codex-bridge.example/bridge/store/postgrestest"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScriptsPostgres runs the scripts of testdata/postgres, each with an empty database in
// $DATABASE.
func TestScriptsPostgres(t *testing.T) {
	server, err := postgrestest.Start(postgrestest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	p := params(t, "testdata/postgres")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		url, err := server.Database(context.Background())
		if err != nil {
			return err
		}
		env.Setenv("DATABASE", url)
		return setup(env)
	}
	testscript.Run(t, p)
}
