package inject_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/inject"
	"codex-bridge.example/rpc"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// Each session is for a bridge that enforces, or that has no policy.
func TestInjectSessions(t *testing.T) {
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
				Plan:       func(rpc.Value) (*inject.Plan, error) { return &plan, nil },
				Mode:       func() config.Mode { return mode },
				Failed:     func(context.Context, string, string, string, string) {},
				Unanswered: func(context.Context, string, string, string, string) {},
				Refuse:     refuse,
				Log:        slog.New(slog.DiscardHandler),
			})
			c := bridgetest.Start(t, f)
			c.Bind("hash", plan.Trusted()["/<session-flags>/config.toml:pre_tool_use:0:0"])
			c.Play(filepath.Base(file), string(script))
		})
	}
}

func refuse(_ context.Context, call *bridge.ClientMessage, why string) *rpc.Error {
	return rpc.Errorf(rpc.CodeNotVerified, "%s: the bridge's hooks are not active in this thread: %s", call.Method, why)
}

func TestRequestWithoutPlanIsUnchanged(t *testing.T) {
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

// The matcher is a part of the hash. Measured with Codex 0.169.
func TestTrustedHashHasTheMatcher(t *testing.T) {
	plan := inject.Plan{Events: []hook.Event{hook.PermissionRequest}, Matchers: map[hook.Event]string{hook.PermissionRequest: "^mcp__"}, Timeout: 5 * time.Second, Command: func(hook.Event) string { return "true" }}
	want := map[string]string{
		"/<session-flags>/config.toml:permission_request:0:0": "sha256:c3c90cc28ede2a15959a15bd0e77ed798acd73bd9f9b3d0e636917d8c0561b45",
	}
	if diff := cmp.Diff(want, plan.Trusted()); diff != "" {
		t.Error(diff)
	}
}

// A hook with a matcher is active, but does not run for other tools.
func TestHookRunsForToolsOfItsMatcher(t *testing.T) {
	const key = "/<session-flags>/config.toml:post_tool_use:0:0"
	plan := inject.Plan{
		Events: []hook.Event{hook.PostToolUse}, Matchers: map[hook.Event]string{hook.PostToolUse: "^Bash$"}, Timeout: 10 * time.Second,
		Command: func(hook.Event) string { return "relay" },
	}
	f := inject.New(inject.Options{
		Plan: func(rpc.Value) (*inject.Plan, error) { return &plan, nil },
		Mode: func() config.Mode { return config.Enforce },
		Log:  slog.New(slog.DiscardHandler),
	})
	c := bridgetest.Start(t, f)
	c.Bind("hash", plan.Trusted()[key])
	c.Play("matcher", `
editor> {"id":1,"method":"thread/start","params":{}}
codex<  {"id":"$req","method":"configRequirements/read","params":{}}
codex>  {"id":"$req","result":{"requirements":null}}
codex<  {"id":1,"method":"thread/start","params":{"config":{"features.hooks":true,"hooks.PostToolUse":[{"matcher":"^Bash$","hooks":[{"type":"command","command":"relay","timeout":10,"async":false}]}],"hooks.state":{"/<session-flags>/config.toml:post_tool_use:0:0":{"enabled":true,"trusted_hash":"<text>"},"<session-flags>/config.toml:post_tool_use:0:0":{"enabled":true,"trusted_hash":"<text>"}}}}}
codex>  {"id":1,"result":{"thread":{"id":"t1"}}}
editor<= {"id":1,"result":{"thread":{"id":"t1"}}}
editor> {"id":2,"method":"turn/start","params":{"threadId":"t1"}}
codex<  {"id":"$list","method":"hooks/list","params":{"threadId":"t1"}}
codex>  {"id":"$list","result":{"data":[{"cwd":"/w","hooks":[{"key":"`+key+`","enabled":true,"trustStatus":"trusted","currentHash":"$hash"}]}]}}
codex<= {"id":2,"method":"turn/start","params":{"threadId":"t1"}}
`)
	if !f.IsActive("t1", hook.PostToolUse) || !f.RunsFor("t1", hook.PostToolUse, "Bash") || f.RunsFor("t1", hook.PostToolUse, "mcp__s__t") || f.RunsFor("t2", hook.PostToolUse, "Bash") {
		t.Error("the matcher decides for which tools a hook runs")
	}
}

func TestTrustedHashMatchesTheProtocol(t *testing.T) {
	plan := inject.Plan{
		Events: []hook.Event{hook.PreToolUse}, Timeout: 4001 * time.Millisecond,
		Command: func(hook.Event) string { return "/opt/hook pre" },
	}
	want := map[string]string{
		"/<session-flags>/config.toml:pre_tool_use:0:0": "sha256:b270f1c8131833c84071d8334dc47b86324d336d93f8d7dc8e9e25ca8f4c5e10",
	}
	if diff := cmp.Diff(want, plan.Trusted()); diff != "" {
		t.Error(diff)
	}
}

// Measured with Codex 0.169.0 on Linux, and by Wine with that for Windows.
func TestSourceOnEachSystem(t *testing.T) {
	for goos, want := range map[string]string{
		"linux": "/<session-flags>/config.toml", "darwin": "/<session-flags>/config.toml", "windows": `C:\<session-flags>\config.toml`,
	} {
		if got := inject.SourceOn(goos); got != want {
			t.Errorf("%s: %s, want %s", goos, got, want)
		}
	}
}

// A denial for want of an answer is reported, and no other one, even if its reason quotes such a denial.
func TestDenialWithoutAnswerIsReported(t *testing.T) {
	reported := make(chan []string, 1)
	f := inject.New(inject.Options{
		Plan: func(rpc.Value) (*inject.Plan, error) {
			return &inject.Plan{Events: []hook.Event{hook.PreToolUse}, Command: func(e hook.Event) string { return string(e) }}, nil
		},
		Mode: func() config.Mode { return config.Off },
		Unanswered: func(_ context.Context, thread, turn, event, why string) {
			reported <- []string{thread, turn, event, why}
		},
		Log: slog.New(slog.DiscardHandler),
	})
	c := bridgetest.Start(t, f)
	c.EditorSends(`{"id":1,"method":"thread/start","params":{}}`)
	asked, err := rpc.ParseMessage([]byte(<-c.CodexReceives())) // whether the machine allows hooks
	if err != nil {
		t.Fatal(err)
	}
	c.CodexSends(`{"id":` + string(asked.ID.Raw()) + `,"result":{}}`)
	<-c.CodexReceives()
	go func() { // ends with the conversation
		for range c.EditorReceives() {
		}
	}()
	for _, run := range []string{
		`"status":"blocked","sourcePath":"SOURCE","entries":[{"text":"a handler says: codex-bridge hook: late"}]`,
		`"status":"blocked","sourcePath":"SOURCE","entries":[{"text":"codex-bridge: no"}]`,
		`"status":"completed","sourcePath":"SOURCE","entries":[{"text":"codex-bridge hook: late"}]`,
		`"status":"blocked","sourcePath":"/h/hooks.json","entries":[{"text":"codex-bridge hook: late"}]`,
		`"status":"blocked","sourcePath":"SOURCE","entries":[{"text":"codex-bridge hook: the last"}]`,
	} {
		c.CodexSends(`{"method":"hook/completed","params":{"threadId":"t","turnId":"u","run":{"eventName":"preToolUse",` + strings.ReplaceAll(run, "SOURCE", inject.Source) + `}}}`)
	}
	if diff := cmp.Diff([]string{"t", "u", "preToolUse", "the last"}, <-reported); diff != "" {
		t.Error(diff)
	}
}
