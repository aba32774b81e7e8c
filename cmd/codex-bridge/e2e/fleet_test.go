//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// bridgeCommand runs a command of the bridge in the world and returns its output.
func (w *world) bridgeCommand(args ...string) string {
	w.t.Helper()
	cmd := exec.Command(proxyPath, args...)
	cmd.Env = append(slices.Clip(w.env), "COLUMNS=1000") // no line is wrapped
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Errorf("%v: %v", args, err)
	}
	return string(out)
}

// A refusal of a call of the real Codex arrives in the fleet log when the bridge ends, and one of a bridge that was
// killed, or that could not reach the database, with the next bridge. Without a fleet log nothing arrives.
func TestFleetLogGetsRefusals(t *testing.T) {
	t.Parallel()
	direct := postgresDatabase(t)
	between, address := newNetwork(t, direct)
	db, err := pgx.Connect(t.Context(), direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	w := newWorld(t, options{config: hooksPolicy + "[fleet]\nurl = \"" + address + "\"\n"})
	control := newWorld(t, options{config: hooksPolicy})
	w.bridgeCommand("decisions", "ship", "--create")
	refusals := func() (n int) {
		t.Helper()
		if err := db.QueryRow(t.Context(), `SELECT count(*) FROM fleet_log WHERE verdict = 'deny' AND content LIKE '%touch denied%'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	refuse := func(w *world) *conversation {
		t.Helper()
		c := w.open(proxyArgv...)
		c.initialize(map[string]any{"bridge": map[string]any{"version": 1}})
		thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
		if said := c.toolOutput(thread, "RUN: touch denied"); !strings.Contains(said, "denied") && !strings.Contains(said, "blocked") {
			t.Errorf("the model got %q", said)
		}
		return c
	}
	refuse(control).closeAndWait()
	if n := refusals(); n != 0 {
		t.Errorf("%d refusals without a fleet log", n)
	}
	refuse(w).closeAndWait()
	first := refusals()
	if first == 0 {
		t.Error("no refusal at the end of the bridge")
	}

	between.cut()
	c := refuse(w) // the database is away: nothing waits for it
	var status struct {
		Fleet struct {
			Location     string
			Acknowledged int
			Waiting      int
		}
	}
	if err := json.Unmarshal(c.must("bridge/status", map[string]any{}), &status); err != nil {
		t.Fatal(err)
	}
	if status.Fleet.Waiting == 0 || status.Fleet.Acknowledged == 0 || !strings.HasPrefix(status.Fleet.Location, "PostgreSQL ") {
		t.Errorf("bridge/status: %+v", status)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exit(c.ctx); err != nil {
		t.Fatal(err)
	}
	if n := refusals(); n != first {
		t.Errorf("%d refusals while the database was away, %d before", n, first)
	}
	between.restore()
	if out := w.bridgeCommand("decisions", "ship"); !strings.Contains(out, " decisions sent; PostgreSQL ") {
		t.Error(out)
	}
	if n := refusals(); n != 2*first {
		t.Errorf("%d refusals, %d of them of the first bridge", n, first)
	}
	checkpoint := filepath.Join(w.root, "checkpoint.json")
	if err := os.WriteFile(checkpoint, []byte(w.bridgeCommand("decisions", "checkpoint")), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(w).closeAndWait()
	if out := w.bridgeCommand("decisions", "verify", "--fleet", "--checkpoint", checkpoint); !strings.Contains(out, " in 1 chains, none changed") {
		t.Error(out)
	}
	if n := refusals(); n != 3*first {
		t.Errorf("%d refusals, %d of them of the first bridge", n, first)
	}
	local, fleet := strings.Count(w.bridgeCommand("decisions", "export"), "\n"), strings.Count(w.bridgeCommand("decisions", "export", "--fleet"), "\n")
	if local != fleet {
		t.Errorf("%d decisions in the fleet log, %d in the local one", fleet, local)
	}
}

// The trial of a hook by doctor leaves nothing in a shared log, in a fleet log and at a collector. A bridge with
// its variable alone does.
func TestDoctorLeavesNoDecision(t *testing.T) {
	t.Parallel()
	server := postgresServer(t)
	for table, export := range map[string][]string{"store": {"decisions", "export"}, "fleet": {"decisions", "export", "--fleet"}} {
		address, err := server.Database(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var sent atomic.Int32
		collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Add(1) }))
		t.Cleanup(collector.Close)
		w := newWorld(t, options{config: hooksPolicy + "[" + table + "]\nurl = \"" + address + "\"\n[otel]\nendpoint = \"" + collector.URL + "\"\n"})
		w.env = append(w.env, "CODEX_BRIDGE_OWN_CODEX=trial")
		if table == "fleet" {
			w.bridgeCommand("decisions", "ship", "--create")
		}
		decisions := func() int { return strings.Count(w.bridgeCommand(export...), `"seq":`) }
		if text, _, _ := w.runCommand("doctor"); !strings.Contains(text, "a hook was fired and answered") {
			t.Errorf("doctor prints %s", text)
		}
		if n := decisions(); n != 0 || sent.Load() != 0 {
			t.Errorf("[%s]: doctor leaves %d decisions and sends %d times to the collector", table, n, sent.Load())
		}
		c := w.open(proxyArgv...)
		c.initialize(nil)
		c.mustFail("process/spawn", nil)
		c.closeAndWait()
		if decisions() == 0 || sent.Load() == 0 {
			t.Errorf("[%s]: a conversation leaves nothing", table)
		}
	}
}
