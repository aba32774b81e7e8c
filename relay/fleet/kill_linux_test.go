package fleet_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/bridge/store/postgrestest"
	"codex-bridge.example/relay/fleet"
)

// bridge is a process that decides and ships. A test kills it and starts it again.
type bridge struct {
	t       *testing.T
	folder  string
	url     string
	name    string
	starts  int
	cmd     *exec.Cmd
	decided chan string
}

func (b *bridge) start() {
	b.t.Helper()
	b.starts++
	b.cmd = exec.Command(os.Args[0], b.folder, b.url, fmt.Sprintf("%s-%d", b.name, b.starts))
	b.cmd.Env = append(os.Environ(), envChild+"=1")
	b.cmd.Stderr = os.Stderr
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	decided := make(chan string, 1<<16)
	b.decided = decided
	go func() { // ends with the process
		defer close(decided)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			decided <- lines.Text()
		}
	}()
}

// await waits for decisions, and adds them to all.
func (b *bridge) await(n int, all map[string]int) {
	b.t.Helper()
	for range n {
		name, ok := <-b.decided
		if !ok {
			b.t.Fatal("the bridge ended")
		}
		all[name] = 0
	}
}

// kill kills the process, and adds the rest of its decisions to all.
func (b *bridge) kill(all map[string]int) {
	_ = b.cmd.Process.Kill()
	for name := range b.decided {
		all[name] = 0
	}
	_ = b.cmd.Wait()
}

// crash kills a process of the database server. The server then kills all others with their connections, and recovers
// from its log.
func crash(t *testing.T, url string) {
	t.Helper()
	pid := count(t, url, `SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'`)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for syscall.Kill(pid, 0) == nil { // until the server has noticed
		time.Sleep(time.Millisecond)
	}
}

// Bridges and their database are killed again and again. Then the fleet log has each decision exactly once: those
// that a bridge had acknowledged, and no others than the local logs have.
func TestKillsLoseAndDoubleNothing(t *testing.T) {
	server, err := postgrestest.Start(postgrestest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	url, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := openDatabase(t, url)
	if err := d.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.Close()
	kills := 4
	if wide() {
		kills = 100
	}
	decided := make(map[string]int)
	var bridges []*bridge
	for i := range 3 {
		b := &bridge{t: t, folder: filepath.Join(t.TempDir(), "state"), url: url, name: fmt.Sprint("b", i)}
		b.start()
		t.Cleanup(func() { b.kill(decided) })
		bridges = append(bridges, b)
	}
	ofServer, reached := 0, 0
	for kill := range kills {
		for _, b := range bridges {
			b.await(1+rand.IntN(60), decided)
		}
		if kill%2 == 0 {
			crash(t, url)
			ofServer++
			for _, b := range bridges {
				b.await(1+rand.IntN(20), decided) // no decision waits for the fleet log
			}
			for started := false; !started; {
				c, err := pgx.Connect(t.Context(), url)
				if started = err == nil; started {
					_ = c.Close(t.Context())
				} else if time.Sleep(5 * time.Millisecond); t.Context().Err() != nil {
					t.Fatal(err)
				}
			}
		} else {
			b := bridges[rand.IntN(len(bridges))]
			b.kill(decided)
			b.start()
		}
		if n := count(t, url, `SELECT count(*) FROM fleet_decisions`); n > reached {
			reached = n
		}
	}
	chains := make(map[string][]store.Sealed)
	for _, b := range bridges {
		b.kill(decided)
		b.start()
		b.await(1, decided)
		b.kill(decided) // the lease of a killed process is free
		s, err := store.Open(t.Context(), store.Options{Folder: b.folder})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := fleet.Ship(t.Context(), s, d, sender, true); err != nil {
			t.Fatal(err)
		}
		chain, err := s.Chain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if chains[chain], err = s.SealedAfter(t.Context(), decision.NoHead, 1<<30, 1<<30); err != nil {
			t.Fatal(err)
		}
	}
	got := readAll(t, d)
	want := entriesOf(chains)
	if len(got) != len(want) {
		t.Errorf("the fleet log has %d decisions, the local logs %d", len(got), len(want))
	}
	for i, e := range got {
		if i < len(want) && (e.Chain != want[i].Chain || e.Head != want[i].Head || string(e.Content) != string(want[i].Content)) {
			t.Fatalf("decision %d of %s differs", e.Seq, e.Chain)
		}
		var content struct{ Thread string }
		if err := json.Unmarshal(e.Content, &content); err != nil {
			t.Fatal(err)
		}
		decided[content.Thread]++
	}
	for name, times := range decided {
		if times != 1 {
			t.Errorf("%s is there %d times", name, times)
		}
	}
	c, err := fleet.Verify(d.Entries(t.Context()), nil)
	if err != nil || c.Chains != 3 {
		t.Fatal(c, err)
	}
	if reached == 0 {
		t.Error("nothing was shipped between the kills")
	}
	t.Logf("%d kills, %d of the database: %d decisions, %d of them shipped before the last kill", kills, ofServer, c.Decisions, reached)
}
