package inject_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge/bridge/bridgetest"
	"codex-bridge/bridge/config"
	"codex-bridge/relay/hook"
	"codex-bridge/relay/inject"
	"codex-bridge/rpc"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// The sessions are those of a bridge that enforces, by their names, or has no policy.
func TestSessions(t *testing.T) {
	files, err := filepath.Glob("../../testdata/sessions/inject-*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			mode := config.Off
			if strings.HasPrefix(filepath.Base(file), "inject-enforce") {
				mode = config.Enforce
			}
			plan := inject.Plan{
				Events: []hook.Event{hook.PreToolUse}, Timeout: 10 * time.Second,
				Command: func(e hook.Event) string { return "relay " + string(e) },
			}
			f := inject.New(inject.Options{
				Plan: func(rpc.Value) (*inject.Plan, error) { return &plan, nil },
				Mode: func() config.Mode { return mode },
				Log:  slog.New(slog.DiscardHandler),
			})
			c := bridgetest.Start(t, f)
			c.Bind("hash", plan.Trusted()["/<session-flags>/config.toml:pre_tool_use:0:0"])
			c.Play(filepath.Base(file), string(script))
		})
	}
}

// What a thread without a plan sends passes as it came.
func TestNoPlan(t *testing.T) {
	f := inject.New(inject.Options{
		Plan: func(rpc.Value) (*inject.Plan, error) { return nil, nil },
		Mode: func() config.Mode { return config.Enforce },
		Log:  slog.New(slog.DiscardHandler),
	})
	bridgetest.Start(t, f).Play("no plan", `
editor> {"id":1,"method":"thread/start","params":{"config":{"hooks":{}}}}
codex<= {"id":1,"method":"thread/start","params":{"config":{"hooks":{}}}}
codex>  {"id":1,"result":{"thread":{"id":"t1"}}}
editor<= {"id":1,"result":{"thread":{"id":"t1"}}}
editor> {"id":2,"method":"turn/start","params":{"threadId":"t1"}}
codex<= {"id":2,"method":"turn/start","params":{"threadId":"t1"}}
`)
}

// The events of the vectors: which are installed under which approval.
func TestHookConfigVectorsEvents(t *testing.T) {
	for _, c := range readVectors(t).Events {
		approval, err := rpc.ParseValue(c.ApprovalPolicy)
		if err != nil {
			t.Fatal(err)
		}
		var configured, want []hook.Event
		for _, name := range c.ConfiguredEvents {
			configured = append(configured, event(name))
		}
		for _, name := range c.Events {
			want = append(want, event(name))
		}
		t.Run(string(c.ApprovalPolicy), func(t *testing.T) {
			got := inject.Select(configured, approval.Root())
			if len(got) != len(want) {
				t.Fatalf("%v, want %v", got, want)
			}
			for _, e := range want {
				if !strings.Contains(strings.Join(names(got), " "), string(e)) {
					t.Errorf("%v, want %v", got, want)
				}
			}
		})
	}
}

func names(events []hook.Event) (names []string) {
	for _, e := range events {
		names = append(names, string(e))
	}
	return names
}
