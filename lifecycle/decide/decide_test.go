package decide_test

import (
	"errors"
	"testing"

	"codex-bridge/lifecycle/apps"
	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/decide"
	"codex-bridge/rpc"
)

const (
	someTools = `[{"name":"a"}]`
	noTools   = "[]"
)

func withApps() *binding.PluginPolicy {
	return &binding.PluginPolicy{Fingerprint: "p", Apps: map[string]binding.PluginApp{"g": {ConfigKey: "g"}}}
}

func engineOf(policy string, p *binding.Projection) *binding.ContextEngine {
	return &binding.ContextEngine{EngineID: "e", Policy: policy, Projection: p}
}

// The whole table: what was bound, what would be started, and what comes of it.
func TestThread(t *testing.T) {
	full := func(change func(*binding.Binding)) binding.Binding {
		b := binding.Binding{
			ThreadID: "t", DynamicTools: someTools, UserMCPServers: "u", MCPServers: "m", Environments: "v",
			PluginApps: "out", PluginAppsInput: "in", PluginPolicy: withApps(), ContextEngine: engineOf("p", &binding.Projection{Epoch: "1", Fingerprint: "f"}),
		}
		if change != nil {
			change(&b)
		}
		return b
	}
	inputs := func(change func(*decide.Inputs)) decide.Inputs {
		in := decide.Inputs{
			DynamicTools: someTools, UserMCPServers: "u", MCPServers: "m", Evaluated: true, Environments: "v",
			Plugins:       decide.Plugins{Enabled: true, Input: "in", EnabledKeys: []string{"g"}, Config: &apps.Config{Output: "out", Input: "in"}},
			ContextEngine: engineOf("p", &binding.Projection{Epoch: "1", Fingerprint: "f"}),
		}
		if change != nil {
			change(&in)
		}
		return in
	}
	for _, c := range []struct {
		name   string
		b      func(*binding.Binding)
		in     func(*decide.Inputs)
		action decide.Action
		reason decide.Reason
	}{
		{"nothing", nil, nil, decide.Resume, decide.Unchanged},
		{"no thread", func(b *binding.Binding) { b.ThreadID = "" }, nil, decide.Start, decide.NotBound},
		{"too large", nil, func(in *decide.Inputs) { in.TooLarge, in.ContextEngine = true, nil }, decide.Start, decide.RolloutTooLarge},
		{"engine appears", func(b *binding.Binding) { b.ContextEngine = nil }, nil, decide.Rotate, decide.EngineChanged},
		{"engine goes", nil, func(in *decide.Inputs) { in.ContextEngine = nil }, decide.Rotate, decide.EngineChanged},
		{"engine's policy", nil, func(in *decide.Inputs) { in.ContextEngine.Policy = "q" }, decide.Rotate, decide.EngineChanged},
		{"engine's id", nil, func(in *decide.Inputs) { in.ContextEngine.EngineID = "q" }, decide.Rotate, decide.EngineChanged},
		{"projection appears", func(b *binding.Binding) { b.ContextEngine.Projection = nil }, nil, decide.Rotate, decide.EngineChanged},
		{"projection goes", nil, func(in *decide.Inputs) { in.ContextEngine.Projection = nil }, decide.Rotate, decide.EngineChanged},
		{"projection's epoch", nil, func(in *decide.Inputs) { in.ContextEngine.Projection.Epoch = "2" }, decide.Rotate, decide.EngineChanged},
		{"engine and tools gone", nil, func(in *decide.Inputs) { in.ContextEngine, in.DynamicTools = nil, noTools }, decide.Rotate, decide.EngineChanged},
		{"user servers change", nil, func(in *decide.Inputs) { in.UserMCPServers = "w" }, decide.Start, decide.UserServersChanged},
		{"user servers appear", func(b *binding.Binding) { b.UserMCPServers = "" }, nil, decide.Start, decide.UserServersChanged},
		{"user servers go", nil, func(in *decide.Inputs) { in.UserMCPServers = "" }, decide.Start, decide.UserServersChanged},
		{"user servers and tools", nil, func(in *decide.Inputs) { in.UserMCPServers, in.DynamicTools = "", noTools }, decide.Start, decide.UserServersChanged},
		{"environments", nil, func(in *decide.Inputs) { in.Environments = noTools }, decide.Start, decide.EnvironmentsChanged},
		{"environments not named", nil, func(in *decide.Inputs) { in.Environments = "" }, decide.Start, decide.EnvironmentsChanged},
		{"servers change", nil, func(in *decide.Inputs) { in.MCPServers = "n" }, decide.Start, decide.ServersChanged},
		{"servers gone", nil, func(in *decide.Inputs) { in.MCPServers = "" }, decide.Start, decide.ServersChanged},
		{"servers not evaluated", nil, func(in *decide.Inputs) { in.MCPServers, in.Evaluated = "n", false }, decide.Resume, decide.Unchanged},
		{"plugins off", nil, func(in *decide.Inputs) { in.Plugins = decide.Plugins{} }, decide.Start, decide.PluginsOff},
		{"plugins off, output bound", func(b *binding.Binding) { b.PluginAppsInput, b.PluginPolicy = "", nil },
			func(in *decide.Inputs) { in.Plugins = decide.Plugins{} }, decide.Start, decide.PluginsOff},
		{"plugins off, policy bound", func(b *binding.Binding) { b.PluginAppsInput, b.PluginApps = "", "" },
			func(in *decide.Inputs) { in.Plugins = decide.Plugins{} }, decide.Start, decide.PluginsOff},
		{"plugins off, none bound", func(b *binding.Binding) { b.PluginApps, b.PluginAppsInput, b.PluginPolicy = "", "", nil },
			func(in *decide.Inputs) { in.Plugins = decide.Plugins{} }, decide.Resume, decide.Unchanged},
		{"no output", func(b *binding.Binding) { b.PluginApps = "" }, nil, decide.Start, decide.PluginsUnknown},
		{"no input", func(b *binding.Binding) { b.PluginAppsInput = "" }, nil, decide.Start, decide.PluginsUnknown},
		{"no policy", func(b *binding.Binding) { b.PluginPolicy = nil }, nil, decide.Start, decide.PluginsUnknown},
		{"plugins change", nil, func(in *decide.Inputs) { in.Plugins.Input = "other" }, decide.Start, decide.PluginsChanged},
		{"apps not built", nil, func(in *decide.Inputs) { in.Plugins.Config = nil }, decide.Build, decide.AppsToBuild},
		{"apps can't be built", nil, func(in *decide.Inputs) { in.Plugins.Config, in.Plugins.Failed = nil, true }, decide.Resume, decide.Unchanged},
		{"apps change", nil, func(in *decide.Inputs) { in.Plugins.Config = &apps.Config{Output: "else"} }, decide.Start, decide.AppsChanged},
		{"no plugins on, apps bound", nil, func(in *decide.Inputs) { in.Plugins.EnabledKeys, in.Plugins.Config = nil, nil }, decide.Resume, decide.Unchanged},
		{"no plugins on, no apps bound", func(b *binding.Binding) { b.PluginPolicy.Apps = nil },
			func(in *decide.Inputs) { in.Plugins.EnabledKeys, in.Plugins.Config = nil, nil }, decide.Build, decide.AppsToBuild},
		{"apps to build, and tools gone", nil, func(in *decide.Inputs) { in.Plugins.Config, in.DynamicTools = nil, noTools }, decide.Build, decide.AppsToBuild},
		{"tools not known", func(b *binding.Binding) { b.DynamicTools = "" }, nil, decide.Resume, decide.Unchanged},
		{"tools not known, and none", func(b *binding.Binding) { b.DynamicTools = "" }, func(in *decide.Inputs) { in.DynamicTools = noTools }, decide.Resume, decide.Unchanged},
		{"tools change", nil, func(in *decide.Inputs) { in.DynamicTools = `[{"name":"b"}]` }, decide.Start, decide.ToolsChanged},
		{"tools added", nil, func(in *decide.Inputs) { in.DynamicTools = `[{"name":"a"},{"name":"b"}]` }, decide.Start, decide.ToolsChanged},
		{"tools gone", nil, func(in *decide.Inputs) { in.DynamicTools = noTools }, decide.Transient, decide.ToolsGone},
		{"tools come", func(b *binding.Binding) { b.DynamicTools = noTools }, nil, decide.Start, decide.ToolsChanged},
		{"no tools", func(b *binding.Binding) { b.DynamicTools = noTools }, func(in *decide.Inputs) { in.DynamicTools = noTools }, decide.Resume, decide.Unchanged},
		{"settings", func(b *binding.Binding) {
			b.Model, b.ModelProvider, b.ApprovalPolicy, b.Sandbox, b.ServiceTier, b.Cwd = "x", "x", "x", "x", "x", "x"
		},
			nil, decide.Resume, decide.Unchanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := decide.Thread(full(c.b), inputs(c.in))
			if got != (decide.Decision{Action: c.action, Reason: c.reason}) {
				t.Errorf("%s because %s, want %s because %s", got.Action, got.Reason, c.action, c.reason)
			}
			if got.Reason.Words() == "" {
				t.Errorf("%s has no words", got.Reason)
			}
		})
	}
}

func TestStartedNeedsApps(t *testing.T) {
	in := decide.Inputs{Plugins: decide.Plugins{Enabled: true, Input: "in"}, DynamicTools: noTools}
	for _, c := range []*apps.Config{nil, {Output: "o", Input: "in"}, {Output: "o", Policy: withApps()}, {Input: "in", Policy: withApps()}} {
		in.Plugins.Config = c
		if b, err := decide.Started(decide.Run{}, in, decide.Answer{Thread: "t"}); err == nil {
			t.Errorf("bound without the apps: %+v", b)
		}
	}
}

// Which of its tools are found by search, a thread knows from its start.
func TestDeferredTools(t *testing.T) {
	old := binding.Binding{ThreadID: "t", DynamicTools: someTools, DynamicToolsContainDeferred: true}
	b := decide.Resumed(old, decide.Run{}, decide.Inputs{DynamicTools: someTools}, decide.Answer{Thread: "t"})
	if !b.DynamicToolsContainDeferred {
		t.Error("forgotten by a resume")
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		resume decide.Sequel
		turn   decide.Sequel
	}{
		{"gone", errors.New("the connection has ended"), decide.Sequel{Keep: true}, decide.Sequel{Keep: true}},
		{"gone, said by the bridge", rpc.Errorf(rpc.CodeUpstream, "codex is gone"), decide.Sequel{Keep: true}, decide.Sequel{Keep: true}},
		{"no answer in time", rpc.Errorf(rpc.CodeDeadline, "no answer"), decide.Sequel{Keep: true}, decide.Sequel{Keep: true}},
		{"refused by policy", rpc.Errorf(rpc.CodeRefused, "no"), decide.Sequel{Keep: true}, decide.Sequel{Keep: true}},
		{"not verified", rpc.Errorf(rpc.CodeNotVerified, "no"), decide.Sequel{Keep: true}, decide.Sequel{Keep: true}},
		{"busy", rpc.Errorf(rpc.CodeBusy, "process 5 has it"), decide.Sequel{Keep: true}, decide.Sequel{Keep: true}},
		{"another writer", rpc.Errorf(-32600, "thread T already has an active writer"), decide.Sequel{Keep: true}, decide.Sequel{Keep: true}},
		{"overloaded", rpc.Errorf(-32001, "Server overloaded; retry later."), decide.Sequel{Keep: true}, decide.Sequel{Keep: true}},
		{"no rollout", rpc.Errorf(-32600, "no rollout found for thread id T"),
			decide.Sequel{Again: true, Reason: decide.ThreadLost}, decide.Sequel{Again: true, Reason: decide.ThreadLost}},
		{"not found", rpc.Errorf(-32600, "Thread not found: T"),
			decide.Sequel{Again: true, Reason: decide.ThreadLost}, decide.Sequel{Again: true, Reason: decide.ThreadLost}},
		{"rollout is empty", rpc.Errorf(-32603, "failed to read thread: rollout is empty"),
			decide.Sequel{Again: true, Reason: decide.ResumeFailed}, decide.Sequel{Keep: true}},
		{"archived", rpc.Errorf(-32600, "session T is archived."), decide.Sequel{Again: true, Reason: decide.ResumeFailed}, decide.Sequel{Keep: true}},
		{"bad id", rpc.Errorf(-32600, "invalid session id: x"), decide.Sequel{Again: true, Reason: decide.ResumeFailed}, decide.Sequel{Keep: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := decide.FailureOf(c.err)
			if got := decide.AfterResume(f); got != c.resume {
				t.Errorf("after a resume: %+v, want %+v", got, c.resume)
			}
			if got := decide.AfterTurn(f, true); got != c.turn {
				t.Errorf("after a turn: %+v, want %+v", got, c.turn)
			}
		})
	}
}

func TestFailuresOfTurns(t *testing.T) {
	for _, c := range []struct {
		failed       string
		bootstrapped bool
		want         decide.Sequel
	}{
		{`{"message":"full","codexErrorInfo":"contextWindowExceeded"}`, true, decide.Sequel{Again: true, Reason: decide.ContextFull}},
		{`{"message":"full","codexErrorInfo":"contextWindowExceeded"}`, false, decide.Sequel{Keep: true}},
		{`{"message":"Invalid image in the request","codexErrorInfo":"badRequest"}`, false, decide.Sequel{Reason: decide.ImageRefused}},
		{`{"message":"an invalid image","codexErrorInfo":"other"}`, false, decide.Sequel{Keep: true}},
		{`{"message":"no","codexErrorInfo":{"httpConnectionFailed":{}}}`, true, decide.Sequel{Keep: true}},
		{`{}`, true, decide.Sequel{Keep: true}},
	} {
		f, _ := decide.FailureOfTurn(value(t, []byte(c.failed)))
		if got := decide.AfterTurn(f, c.bootstrapped); got != c.want {
			t.Errorf("after %s: %+v, want %+v", c.failed, got, c.want)
		}
	}
}
