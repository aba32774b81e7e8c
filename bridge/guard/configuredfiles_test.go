package guard_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
)

// A file that gets a secret while the bridge runs counts for the next request, and one that can't be found refuses it.
func TestSecretFilesChange(t *testing.T) {
	var files []string
	var failed error
	g := guard.New(load(t, readOnlyPolicy), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
	if err := g.SetConfiguredFiles(func() (guard.ConfiguredFiles, error) { return guard.ConfiguredFiles{Secrets: files}, failed }); err != nil {
		t.Fatal(err)
	}
	c := bridgetest.Start(t, g)
	answer := func() string {
		c.EditorSends(`{"id":1,"method":"command/exec","params":{"command":["true"],"sandboxPolicy":{"type":"readOnly"}}}`)
		if files == nil { // the decision needs the configuration
			_, id, _ := strings.Cut(c.NextToCodex(1)[0], `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			c.CodexSends(`{"id":"` + id + `","error":{"code":-32600,"message":"no"}}`)
		}
		return <-c.EditorReceives()
	}
	if got := answer(); strings.Contains(got, "secret") {
		t.Errorf("without a file: %s", got)
	}
	files = []string{"/srv/token"}
	if got := answer(); !strings.Contains(got, "the bridge can't hide /srv/token") {
		t.Errorf("with a file: %s", got)
	}
	failed = errors.New("/srv/token can't be hidden from commands: a loop of links")
	if got := answer(); !strings.Contains(got, "a loop of links") {
		t.Errorf("with a file that can't be found: %s", got)
	}
	if err := g.SetConfiguredFiles(func() (guard.ConfiguredFiles, error) { return guard.ConfiguredFiles{}, failed }); err == nil {
		t.Error("the first search has no error")
	}
}
