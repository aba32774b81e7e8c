package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"codex-bridge": main,
		"codex":        main, // the same program under the name of the real one
	})
}

// TestScripts plays the command line as a person types it. The codex of the
// scripts is a shell script; cmd/codex-bridge/e2e uses the real one.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// status N ARGS…: codex-bridge with these arguments exits with N.
			"status": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: status N ARGS...")
				}
				var exit *exec.ExitError
				err := ts.Exec("codex-bridge", args[1:]...)
				if !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
					ts.Fatalf("codex-bridge %v: %v, want status %s", args[1:], err, args[0])
				}
			},
		},
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"CODEX_BRIDGE_CODEX", "CODEX_BRIDGE_CONFIG", "CODEX_BRIDGE_STATE", "CODEX_BRIDGE_LOG"} {
				env.Vars = append(env.Vars, name+"=")
			}
			// An empty CODEX_BRIDGE_CONFIG means no file of the user's.
			return os.MkdirAll(env.WorkDir+"/home", 0o700)
		},
	})
}
