//go:build unix

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/follow"
	"codex-bridge.example/cmd/internal/scripted"
)

func TestMain(m *testing.M) {
	bridgetest.PlayCodex()
	programs := map[string]func(){
		"codex-bridge": main,
		"codex":        main, // the same program under the name of the real one
	}
	// A test that runs in its own process has these programs from the other process. Some of these tests
	// panic, and testscript would leave its folder.
	inner := os.Getenv(inOwnProcessEnv) != "" || os.Getenv(withoutFeature) != ""
	if inner && programs[filepath.Base(os.Args[0])] == nil {
		os.Exit(m.Run())
	}
	testscript.Main(m, programs)
}

// TestScripts runs the command line as a user types it. The codex of the scripts is a shell script;
// cmd/codex-bridge/e2e uses the real one.
func TestScripts(t *testing.T) {
	testscript.Run(t, params(t, "testdata"))
}

func params(t *testing.T, dir string) testscript.Params {
	t.Helper()
	work, err := scripted.Folder("codex-bridge-scripts-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(work) })
	return testscript.Params{
		Dir:         dir,
		WorkdirRoot: work,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"decide": decide,
			"tamper": tamper,
			"record": record,
			"age":    age,
			"fits":   fits,
			// status N ARGS… checks that codex-bridge with these arguments exits with N.
			"status": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: status N ARGS...")
				}
				var ended *exec.ExitError
				err := ts.Exec("codex-bridge", args[1:]...)
				if !errors.As(err, &ended) || strconv.Itoa(ended.ExitCode()) != args[0] {
					ts.Fatalf("codex-bridge %v: %v, want status %s", args[1:], err, args[0])
				}
			},
		},
		Setup: func(env *testscript.Env) error {
			docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
			if err != nil {
				return err
			}
			env.Vars = append(env.Vars, "DOCS="+docs, "TESTED="+methods.Measured)
			for _, name := range []string{"CODEX_BRIDGE_CODEX", "CODEX_BRIDGE_CONFIG", "CODEX_BRIDGE_STATE", "CODEX_BRIDGE_LOG"} {
				env.Vars = append(env.Vars, name+"=")
			}
			env.Vars = append(env.Vars, "COLUMNS=1000") // a pattern holds for one line; fits tests the wrapping
			// The default folder is shared by the whole machine, and tests of another bridge may
			// leave a state in it.
			env.Vars = append(env.Vars, "HOME="+env.WorkDir+"/home")
			// An empty CODEX_BRIDGE_CONFIG means that the user has no file.
			return os.MkdirAll(env.WorkDir+"/home", 0o700)
		},
	}
}

// decide FILE appends the decisions of a JSON Lines file to the log in $CODEX_BRIDGE_STATE, or in
// the PostgreSQL of $DATABASE.
func decide(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: decide FILE")
	}
	s, err := store.Open(context.Background(), store.Options{Folder: ts.Getenv(statefolder.Env), URL: ts.Getenv("DATABASE")})
	ts.Check(err)
	defer s.Close()
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var d decision.Record
		ts.Check(json.Unmarshal([]byte(line), &d))
		ts.Check(s.Append(context.Background(), d))
	}
}

// record FILE adds the records of a JSON Lines file to the transcripts of the state.
func record(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: record FILE")
	}
	s, err := store.Open(context.Background(), store.Options{Folder: ts.Getenv(statefolder.Env), URL: ts.Getenv("DATABASE")})
	ts.Check(err)
	defer s.Close()
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var r store.Record
		ts.Check(json.Unmarshal([]byte(line), &r))
		_, err := s.AddRecords(context.Background(), []store.Record{r})
		ts.Check(err)
	}
}

// age FILE sets the time of the last change to ten days ago.
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: age FILE")
	}
	at := time.Now().Add(-240 * time.Hour)
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), at, at))
}

// fits ARGS… checks that the lines of codex-bridge with these arguments fit a wide and a narrow output. A line
// may be longer because of a word in its first half, such as a path, and an example is one line.
func fits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fits ARGS...")
	}
	before := ts.Getenv("COLUMNS")
	defer ts.Setenv("COLUMNS", before)
	for columns, width := range map[string]int{"100": 100, "60": 60} {
		ts.Setenv("COLUMNS", columns)
		var ended *exec.ExitError
		if err := ts.Exec("codex-bridge", args...); err != nil && (!errors.As(err, &ended) || ended.ExitCode() != exit.Failed) {
			ts.Check(err)
		}
		out := ts.ReadFile("stdout")
		if out == "" {
			ts.Fatalf("%v prints nothing", args)
		}
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			if n := follow.Columns(line); n > width && strings.LastIndex(line, " ") >= width/2 && !strings.HasPrefix(line, "  codex-bridge ") {
				ts.Fatalf("%v, COLUMNS=%q: a line of %d: %s", args, columns, n, line)
			}
		}
	}
}

// tamper SQL runs the statement on the SQLite database of the state.
func tamper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tamper SQL")
	}
	db, err := sql.Open("sqlite", filepath.Join(ts.Getenv(statefolder.Env), store.DatabaseFile))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(args[0])
	ts.Check(err)
}
