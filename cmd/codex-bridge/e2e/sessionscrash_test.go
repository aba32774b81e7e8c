//go:build linux

package e2e_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/store"
)

// If the bridge is killed after Codex started the session's new thread and before the binding is
// written, the session keeps its old thread.
func TestSessionsCrash(t *testing.T) {
	t.Parallel()
	o, records := withTee(t, options{})
	w := newWorld(t, o)
	readOnly := map[string]any{"sandbox": "read-only"}
	c := w.open(proxyArgv...).initializeWithBridge()
	thread, _ := c.startSession("chat", readOnly, nil)
	c.toolOutput(thread, "SAY: before")

	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.root, "state", store.DatabaseFile)+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(c.ctx, nil) // blocks other writers
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Send([]byte(`{"id":"x","method":"thread/start","params":{"cwd":"` + w.workspace + `","sandbox":"read-only",` +
		`"bridge":{"sessionKey":"chat","contextEngine":{"id":"other"}}}}`)); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(strings.Join(recorded(t, records, "out"), ""), `"id":"x"`) {
		if c.ctx.Err() != nil {
			t.Fatal("Codex started no thread")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exit(c.ctx); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}

	c = w.open(proxyArgv...).initializeWithBridge()
	if again, output := c.startSession("chat", readOnly, nil); again != thread || output != "resumed" {
		t.Errorf("after the crash: %s, in %s, want %s", output, again, thread)
	}
	c.toolOutput(thread, "SAY: after")
	requests := w.model.Requests()
	if !requests[len(requests)-1].Contains("before") {
		t.Error("the model did not get the history before the crash")
	}
	c.closeAndWait()
}
