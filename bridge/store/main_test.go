package store_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
)

// envWriter makes this test program a writer; see runWriter.
const envWriter = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(envWriter) != "" {
		os.Exit(runWriter())
	}
	code := m.Run()
	for _, stop := range cleanups {
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// cleanups run after all tests.
var cleanups []func() error

// backends are the databases that the tests run on. Other files add more.
var backends = []backend{{"sqlite", func(t testing.TB) store.Options {
	return store.Options{Folder: filepath.Join(t.TempDir(), "state")}
}}}

type backend struct {
	name  string
	fresh func(testing.TB) store.Options // returns the options of an empty database
}

// onEach runs a test on an empty database of each backend.
func onEach(t *testing.T, test func(*testing.T, store.Options)) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) { test(t, b.fresh(t)) })
	}
}

func open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// runWriter writes decisions or grants and prints a line for each acknowledged one. Arguments:
// folder, URL, name, count, kind.
func runWriter() int {
	args := os.Args[1:]
	count, err := strconv.Atoi(args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Folder: args[0], URL: args[1]})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.Close()
	for i := range count {
		name := fmt.Sprintf("%s-%d", args[2], i)
		if args[4] == grants {
			g := testGrant(i, "/a")
			g.ID, g.Digest, g.Expires = name, name, g.Expires.AddDate(1, 0, 0)
			err = s.AddGrant(ctx, g, math.MaxInt32)
		} else {
			err = s.Append(ctx, decision.Record{Method: "turn/start", Thread: name})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(name)
	}
	return 0
}

// The kinds of entries that runWriter writes.
const (
	log    = "log"
	grants = "grants"
)

func writerCommand(o store.Options, name string, count int, what string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], o.Folder, o.URL, name, strconv.Itoa(count), what)
	cmd.Env = append(os.Environ(), envWriter+"=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// envExhaustive makes the tests of faults try all cases, which takes minutes.
const envExhaustive = "CODEX_BRIDGE_WIDE"

func exhaustive() bool { return os.Getenv(envExhaustive) != "" }
