//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/bridge/store/postgrestest"
	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

const (
	// envWriter makes this program a writer: the kind of entries that it writes.
	envWriter = "BRIDGE_BENCH_WRITER"
	// writerTime is how long the writers write.
	writerTime = 3 * time.Second
	// writerCount is the number of writing processes.
	writerCount = 50
)

// writers measures how many decisions and grants fifty processes write, with the sync of each commit.
func (b *bench) writers(int) (err error) {
	server, err := postgrestest.Start(postgrestest.Options{Durable: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	url, err := server.Database(context.Background())
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(b.dir, "writers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	for _, kind := range []string{"decisions", "grants"} {
		for _, to := range []struct {
			name, folder, url string
			goal              float64
		}{{"SQLite", filepath.Join(folder, "state"), "", 1000}, {"PostgreSQL", "", url, 2000}} {
			n, err := b.runWriters(kind, to.folder, to.url)
			if err != nil {
				return err
			}
			b.table.Add(table.Row{
				Key: "writers/" + kind + "/" + to.name, Title: fmt.Sprintf("%s written by %d processes", kind, writerCount),
				What: to.name, Unit: "/s", Goal: table.AtLeast(to.goal),
			}, float64(n)/writerTime.Seconds())
		}
	}
	return nil
}

// runWriters starts the writers together and returns how many entries they wrote.
func (b *bench) runWriters(kind, folder, url string) (total int, err error) {
	all := make([]*exec.Cmd, writerCount)
	in := make([]io.WriteCloser, writerCount)
	out := make([]*bufio.Reader, writerCount)
	for i := range all {
		all[i] = exec.Command(b.self, folder, url, fmt.Sprint("w", i))
		all[i].Env = append(os.Environ(), envWriter+"="+kind)
		all[i].Stderr = os.Stderr
		if in[i], err = all[i].StdinPipe(); err != nil {
			return 0, err
		}
		pipe, err := all[i].StdoutPipe()
		if err != nil {
			return 0, err
		}
		out[i] = bufio.NewReader(pipe)
		if err := all[i].Start(); err != nil {
			return 0, err
		}
	}
	for i := range all {
		if _, err := out[i].ReadString('\n'); err != nil {
			return 0, fmt.Errorf("writer %d: %w", i, err)
		}
	}
	for i := range all {
		if err := in[i].Close(); err != nil {
			return 0, err
		}
	}
	for i, one := range all {
		var n int
		_, err := fmt.Fscan(out[i], &n)
		if err = errors.Join(err, one.Wait()); err != nil {
			return 0, fmt.Errorf("writer %d: %w", i, err)
		}
		total += n
	}
	return total, nil
}

// runWriter opens the store that the arguments name, and writes from the end of its input on for
// writerTime. It prints a line before, and the number of entries at the end.
func runWriter(kind string) (err error) {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Folder: os.Args[1], URL: os.Args[2]})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	n := 0
	for began := time.Now(); time.Since(began) < writerTime; n++ {
		if err := writeEntry(ctx, s, kind, fmt.Sprint(os.Args[3], "-", n)); err != nil {
			return err
		}
	}
	fmt.Println(n)
	return nil
}

func writeEntry(ctx context.Context, s *store.Store, kind, name string) error {
	const thread = "019f2c11-8f0e-7c52-9a55-000000000001"
	now := time.Now()
	if kind == "grants" {
		workspace, _, _ := strings.Cut(name, "-")
		return s.AddGrant(ctx, decision.Grant{
			ID: name, Digest: decision.Sum([]byte(name)), Workspace: "/code/" + workspace, Tool: "command", What: "go test ./...",
			Client: "neovim/0.10.4", Thread: thread, Created: now, Expires: now.AddDate(0, 1, 0),
		}, 500)
	}
	return s.Append(ctx, decision.Record{
		Time: now, Client: "neovim/0.10.4", Thread: thread, Turn: name, Method: "turn/start", Verdict: "rewrite", Mode: "enforce",
		Rule: "policy.sandbox", Reason: "the sandbox is read-only", Origin: "config.toml:4", Fields: []string{"sandboxPolicy"},
		Message: decision.Sum([]byte(name)), Facts: `{"method":"turn/start"}`,
	})
}
