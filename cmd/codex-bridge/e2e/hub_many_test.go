//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// sentToAll has the notifications about a thread that Codex sends to all clients: the second one since 0.171.
var sentToAll = []string{"thread/status/changed", "thread/readState/changed"}

// Many clients, each with threads of its own, each of which runs turns at once with the others: in the wide
// form 200 connections with 1,000 threads. Each client hears of its own turns only,
// except for what Codex sends to all.
func TestManyClients(t *testing.T) {
	t.Parallel()
	clients, threads := 6, 2
	if os.Getenv(wideEnv) != "" {
		clients, threads = 200, 5
	}
	w := newHubWorld(t, policyConfig)
	connect := w.serve("unix://" + w.root + "/s/s")[0]
	before := w.serveMemory()
	var all sync.WaitGroup
	ready := make([]*conversation, clients)
	atOnce := make(chan struct{}, 2*runtime.GOMAXPROCS(0)) // Codex is slow to open many threads
	for i := range clients {
		ready[i] = w.open(connect...)
		ready[i].ctx = t.Context()
		all.Go(func() {
			c := ready[i]
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			c.initialize(nil)
			var own []string
			for range threads {
				own = append(own, c.thread(nil))
			}
			for j, thread := range own {
				text := fmt.Sprintf("client %d thread %d", i, j)
				mark := c.Mark()
				c.runTurn(thread, "SAY: "+text)
				heard := false
				for _, m := range c.Messages()[mark:] {
					if other := m.Param("threadId"); other != "" && other != thread && !slices.Contains(sentToAll, m.Method) {
						t.Errorf("client %d hears %s of thread %s", i, m.Method, other)
					}
					heard = heard || m.Method == "item/completed" && m.Param("item", "text") == text
				}
				if !heard {
					t.Errorf("client %d does not hear %q", i, text)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d clients with %d threads each: %d KiB for a client", clients, threads, (w.serveMemory()-before)/clients)
	for _, c := range ready {
		c.Close(5 * time.Second)
	}
}

// serveMemory returns the resident memory of codex-bridge serve in KiB.
func (w *world) serveMemory() int {
	w.t.Helper()
	pids := w.processesOf(proxyPath, "serve")
	if len(pids) != 1 {
		w.t.Fatal("processes of codex-bridge serve:", pids)
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pids[0]), "status"))
	if err != nil {
		w.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		w.t.Fatal(err)
	}
	return kib
}
