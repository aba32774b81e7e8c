package guard_test

import (
	"log/slog"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
)

// The client's name in the log is the one that Codex has accepted. A later initialize, which Codex
// rejects, does not change it.
func TestRejectedInitializeKeepsClientName(t *testing.T) {
	g := guard.New(load(t, readOnlyPolicy), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g)
	c.Play("accepted", `
editor> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"zed","version":"1"}}}
codex<  {"id":1,"method":"initialize","params":{"clientInfo":{"name":"zed","version":"1"}}}
codex>  {"id":1,"result":{}}
editor< {"id":1,"result":{}}
`)
	c.Play("rejected", `
editor> {"id":2,"method":"initialize","params":{"clientInfo":{"name":"other","version":"2"}}}
codex<  {"id":2,"method":"initialize","params":{"clientInfo":{"name":"other","version":"2"}}}
codex>  {"id":2,"error":{"code":-32600,"message":"Already initialized"}}
editor< {"id":2,"error":{"code":-32600,"message":"Already initialized"}}
`)
	if name := g.Client(); name != "zed 1" {
		t.Errorf("the client is %q", name)
	}
}

// A refused notification waits for no thread, and no message waits for it.
func TestRefusedNotificationDoesNotWait(t *testing.T) {
	w := world(t)
	g := guard.New(load(t, gatePolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g)
	c.Bind("start", w.StartFolder)
	c.Play("while a thread waits for codex's configuration", `
editor> {"id":2,"method":"thread/resume","params":{"threadId":"t2","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
editor> {"method":"some/notification","params":{}}
editor> {"id":3,"method":"model/list","params":{}}
codex<  {"id":3,"method":"model/list","params":{}}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
codex<  {"id":2,"method":"thread/resume","params":{"threadId":"t2","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
`)
}
