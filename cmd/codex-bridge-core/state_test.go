package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/statefolder"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// newTestState returns a state in a new folder.
func newTestState(t *testing.T) *state {
	t.Helper()
	t.Setenv(statefolder.Env, filepath.Join(t.TempDir(), "state"))
	s, err := newState([]string{"hunter2hunter2"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// The gate of a thread outlives the process. A recorded folder stays, and so do roots until others are recorded.
func TestGates(t *testing.T) {
	s := newTestState(t)
	ctx, thread := t.Context(), "../../x"
	if _, _, _, found, err := s.Gate(ctx, thread); found || err != nil {
		t.Error(found, err)
	}
	for _, set := range [][3]string{{"true", "/a", `["/r"]`}, {"false", "/b", ""}} {
		if err := s.SetGate(ctx, thread, set[0] == "true", set[1], set[2]); err != nil {
			t.Fatal(err)
		}
	}
	again, err := newState(nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	gated, known, roots, found, err := again.Gate(ctx, thread)
	if gated || known != "/a" || roots != `["/r"]` || !found || err != nil {
		t.Error(gated, known, roots, found, err)
	}
	if err := again.DeleteGate(ctx, thread); err != nil {
		t.Error(err)
	}
	if _, _, _, found, err := s.Gate(ctx, thread); found || err != nil {
		t.Error(found, err)
	}
	if err := os.WriteFile(s.gateFile(thread), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, _, err := s.Gate(ctx, thread); err == nil {
		t.Error("a damaged file counts")
	}
}

// A workspace has at most the newest grants of the limit.
func TestGrants(t *testing.T) {
	var g grants
	now := time.Now()
	for _, one := range []string{"1 a", "2 b", "3 a", "4 a", "3 a"} {
		id, workspace, _ := strings.Cut(one, " ")
		if err := g.AddGrant(t.Context(), decision.Grant{ID: id, Digest: id, Workspace: workspace, Created: now, Expires: now.Add(time.Hour)}, 2); err != nil {
			t.Fatal(err)
		}
	}
	all, err := g.Grants(t.Context())
	ids := ""
	for _, one := range all {
		ids += one.ID
	}
	if ids != "243" || err != nil {
		t.Error(ids, err)
	}
	if gone, err := g.RevokeGrant(t.Context(), "4"); !gone || err != nil {
		t.Error(gone, err)
	}
	if _, found, err := g.GrantByDigest(t.Context(), "4"); found || err != nil {
		t.Error(found, err)
	}
}

// Decisions are listed and verified without secrets. A log that can't be written takes no decision.
func TestDecisions(t *testing.T) {
	s := newTestState(t)
	for _, verdict := range []string{"deny", "rewrite"} {
		if err := s.Append(t.Context(), decision.Record{Method: "m", Verdict: verdict, Reason: "hunter2hunter2"}); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]string{
		"verify":                     "2 decisions, none changed\nhead ",
		"list --json --verdict deny": `"verdict":"deny"`,
		"list":                       "2 ",
	} {
		var out bytes.Buffer
		if err := decisions(strings.Fields(command), &out); err != nil || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "hunter2") {
			t.Errorf("%s: %v\n%s", command, err, out.String())
		}
	}
	if err := decisions([]string{"export"}, new(bytes.Buffer)); err == nil {
		t.Error("an unknown command passes")
	}
	if err := os.Chmod(s.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	other, err := newState(nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Append(t.Context(), decision.Record{Method: "m", Verdict: "rewrite"}); err == nil {
		t.Error("a log that others can access takes a decision")
	}
}

// A configuration with another log is refused: that log would lack the decisions.
func TestOtherLogsAreRefused(t *testing.T) {
	for _, change := range []func(*config.Config){
		func(c *config.Config) { c.Store.URL = "postgres://h/d" }, func(c *config.Config) { c.Fleet.URL = "https://h" },
	} {
		cfg := config.Default()
		if err := requireCore(cfg); err != nil {
			t.Error(err)
		}
		if change(cfg); requireCore(cfg) == nil {
			t.Error("another log passes")
		}
	}
}
