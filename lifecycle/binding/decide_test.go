package binding_test

import (
	"errors"
	"testing"

	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/rpc"
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

// Each case has a binding, the inputs of a thread that would start now, and the decision.
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
	inputs := func(change func(*binding.ThreadInputs)) binding.ThreadInputs {
		in := binding.ThreadInputs{
			DynamicTools: someTools, UserMCPServers: "u", MCPServers: "m", Evaluated: true, Environments: "v",
			Plugins:       binding.PluginInputs{Enabled: true, Input: "in", EnabledKeys: []string{"g"}, Config: &binding.AppConfig{Output: "out", Input: "in"}},
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
		in     func(*binding.ThreadInputs)
		action binding.Action
		reason binding.Reason
	}{
		{"nothing", nil, nil, binding.ActionResume, binding.ReasonUnchanged},
		{"no thread", func(b *binding.Binding) { b.ThreadID = "" }, nil, binding.ActionStart, binding.ReasonNotBound},
		{"too large", nil, func(in *binding.ThreadInputs) { in.TooLarge, in.ContextEngine = true, nil }, binding.ActionStart, binding.ReasonRolloutTooLarge},
		{"engine appears", func(b *binding.Binding) { b.ContextEngine = nil }, nil, binding.ActionRotate, binding.ReasonEngineChanged},
		{"engine goes", nil, func(in *binding.ThreadInputs) { in.ContextEngine = nil }, binding.ActionRotate, binding.ReasonEngineChanged},
		{"engine's policy", nil, func(in *binding.ThreadInputs) { in.ContextEngine.Policy = "q" }, binding.ActionRotate, binding.ReasonEngineChanged},
		{"engine's id", nil, func(in *binding.ThreadInputs) { in.ContextEngine.EngineID = "q" }, binding.ActionRotate, binding.ReasonEngineChanged},
		{"projection appears", func(b *binding.Binding) { b.ContextEngine.Projection = nil }, nil, binding.ActionRotate, binding.ReasonEngineChanged},
		{"projection goes", nil, func(in *binding.ThreadInputs) { in.ContextEngine.Projection = nil }, binding.ActionRotate, binding.ReasonEngineChanged},
		{"projection's epoch", nil, func(in *binding.ThreadInputs) { in.ContextEngine.Projection.Epoch = "2" }, binding.ActionRotate, binding.ReasonEngineChanged},
		{"engine and tools gone", nil, func(in *binding.ThreadInputs) { in.ContextEngine, in.DynamicTools = nil, noTools }, binding.ActionRotate, binding.ReasonEngineChanged},
		{"user servers change", nil, func(in *binding.ThreadInputs) { in.UserMCPServers = "w" }, binding.ActionStart, binding.ReasonUserServersChanged},
		{"user servers appear", func(b *binding.Binding) { b.UserMCPServers = "" }, nil, binding.ActionStart, binding.ReasonUserServersChanged},
		{"user servers go", nil, func(in *binding.ThreadInputs) { in.UserMCPServers = "" }, binding.ActionStart, binding.ReasonUserServersChanged},
		{"user servers and tools", nil, func(in *binding.ThreadInputs) { in.UserMCPServers, in.DynamicTools = "", noTools }, binding.ActionStart, binding.ReasonUserServersChanged},
		{"environments", nil, func(in *binding.ThreadInputs) { in.Environments = noTools }, binding.ActionStart, binding.ReasonEnvironmentsChanged},
		{"environments not named", nil, func(in *binding.ThreadInputs) { in.Environments = "" }, binding.ActionStart, binding.ReasonEnvironmentsChanged},
		{"servers change", nil, func(in *binding.ThreadInputs) { in.MCPServers = "n" }, binding.ActionStart, binding.ReasonServersChanged},
		{"servers gone", nil, func(in *binding.ThreadInputs) { in.MCPServers = "" }, binding.ActionStart, binding.ReasonServersChanged},
		{"servers not evaluated", nil, func(in *binding.ThreadInputs) { in.MCPServers, in.Evaluated = "n", false }, binding.ActionResume, binding.ReasonUnchanged},
		{"plugins off", nil, func(in *binding.ThreadInputs) { in.Plugins = binding.PluginInputs{} }, binding.ActionStart, binding.ReasonPluginsOff},
		{"plugins off, output bound", func(b *binding.Binding) { b.PluginAppsInput, b.PluginPolicy = "", nil },
			func(in *binding.ThreadInputs) { in.Plugins = binding.PluginInputs{} }, binding.ActionStart, binding.ReasonPluginsOff},
		{"plugins off, policy bound", func(b *binding.Binding) { b.PluginAppsInput, b.PluginApps = "", "" },
			func(in *binding.ThreadInputs) { in.Plugins = binding.PluginInputs{} }, binding.ActionStart, binding.ReasonPluginsOff},
		{"plugins off, none bound", func(b *binding.Binding) { b.PluginApps, b.PluginAppsInput, b.PluginPolicy = "", "", nil },
			func(in *binding.ThreadInputs) { in.Plugins = binding.PluginInputs{} }, binding.ActionResume, binding.ReasonUnchanged},
		{"no output", func(b *binding.Binding) { b.PluginApps = "" }, nil, binding.ActionStart, binding.ReasonPluginsUnknown},
		{"no input", func(b *binding.Binding) { b.PluginAppsInput = "" }, nil, binding.ActionStart, binding.ReasonPluginsUnknown},
		{"no policy", func(b *binding.Binding) { b.PluginPolicy = nil }, nil, binding.ActionStart, binding.ReasonPluginsUnknown},
		{"plugins change", nil, func(in *binding.ThreadInputs) { in.Plugins.Input = "other" }, binding.ActionStart, binding.ReasonPluginsChanged},
		{"apps not built", nil, func(in *binding.ThreadInputs) { in.Plugins.Config = nil }, binding.ActionBuild, binding.ReasonAppsToBuild},
		{"apps can't be built", nil, func(in *binding.ThreadInputs) { in.Plugins.Config, in.Plugins.Failed = nil, true }, binding.ActionResume, binding.ReasonUnchanged},
		{"apps change", nil, func(in *binding.ThreadInputs) { in.Plugins.Config = &binding.AppConfig{Output: "else"} }, binding.ActionStart, binding.ReasonAppsChanged},
		{"no plugins on, apps bound", nil, func(in *binding.ThreadInputs) { in.Plugins.EnabledKeys, in.Plugins.Config = nil, nil }, binding.ActionResume, binding.ReasonUnchanged},
		{"no plugins on, no apps bound", func(b *binding.Binding) { b.PluginPolicy.Apps = nil },
			func(in *binding.ThreadInputs) { in.Plugins.EnabledKeys, in.Plugins.Config = nil, nil }, binding.ActionBuild, binding.ReasonAppsToBuild},
		{"apps to build, and tools gone", nil, func(in *binding.ThreadInputs) { in.Plugins.Config, in.DynamicTools = nil, noTools }, binding.ActionBuild, binding.ReasonAppsToBuild},
		{"tools not known", func(b *binding.Binding) { b.DynamicTools = "" }, nil, binding.ActionResume, binding.ReasonUnchanged},
		{"tools not known, and none", func(b *binding.Binding) { b.DynamicTools = "" }, func(in *binding.ThreadInputs) { in.DynamicTools = noTools }, binding.ActionResume, binding.ReasonUnchanged},
		{"tools change", nil, func(in *binding.ThreadInputs) { in.DynamicTools = `[{"name":"b"}]` }, binding.ActionStart, binding.ReasonToolsChanged},
		{"tools added", nil, func(in *binding.ThreadInputs) { in.DynamicTools = `[{"name":"a"},{"name":"b"}]` }, binding.ActionStart, binding.ReasonToolsChanged},
		{"tools gone", nil, func(in *binding.ThreadInputs) { in.DynamicTools = noTools }, binding.ActionTransient, binding.ReasonToolsGone},
		{"tools come", func(b *binding.Binding) { b.DynamicTools = noTools }, nil, binding.ActionStart, binding.ReasonToolsChanged},
		{"no tools", func(b *binding.Binding) { b.DynamicTools = noTools }, func(in *binding.ThreadInputs) { in.DynamicTools = noTools }, binding.ActionResume, binding.ReasonUnchanged},
		{"settings", func(b *binding.Binding) {
			b.Model, b.ModelProvider, b.ApprovalPolicy, b.Sandbox, b.ServiceTier, b.Cwd = "x", "x", "x", "x", "x", "x"
		},
			nil, binding.ActionResume, binding.ReasonUnchanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := binding.Decide(full(c.b), inputs(c.in))
			if got != (binding.Decision{Action: c.action, Reason: c.reason}) {
				t.Errorf("%s because %s, want %s because %s", got.Action, got.Reason, c.action, c.reason)
			}
			if got.Reason.Words() == "" {
				t.Errorf("%s has no words", got.Reason)
			}
		})
	}
}

func TestStartedNeedsApps(t *testing.T) {
	in := binding.ThreadInputs{Plugins: binding.PluginInputs{Enabled: true, Input: "in"}, DynamicTools: noTools}
	for _, c := range []*binding.AppConfig{nil, {Output: "o", Input: "in"}, {Output: "o", Policy: withApps()}, {Input: "in", Policy: withApps()}} {
		in.Plugins.Config = c
		if b, err := binding.NewStarted(binding.ThreadRequest{}, in, binding.ThreadResponse{Thread: "t"}); err == nil {
			t.Errorf("bound without the apps: %+v", b)
		}
	}
}

// A thread keeps its deferred tools from its start.
func TestDeferredTools(t *testing.T) {
	old := binding.Binding{ThreadID: "t", DynamicTools: someTools, DynamicToolsContainDeferred: true}
	b := binding.NewResumed(old, binding.ThreadRequest{}, binding.ThreadInputs{DynamicTools: someTools}, binding.ThreadResponse{Thread: "t"})
	if !b.DynamicToolsContainDeferred {
		t.Error("forgotten by a resume")
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		resume binding.Recovery
		turn   binding.Recovery
	}{
		{"gone", errors.New("the connection has ended"), binding.Recovery{Keep: true}, binding.Recovery{Keep: true}},
		{"gone, said by the bridge", rpc.Errorf(rpc.CodeUpstream, "codex is gone"), binding.Recovery{Keep: true}, binding.Recovery{Keep: true}},
		{"no answer in time", rpc.Errorf(rpc.CodeDeadline, "no answer"), binding.Recovery{Keep: true}, binding.Recovery{Keep: true}},
		{"refused by policy", rpc.Errorf(rpc.CodeRefused, "no"), binding.Recovery{Keep: true}, binding.Recovery{Keep: true}},
		{"not verified", rpc.Errorf(rpc.CodeNotVerified, "no"), binding.Recovery{Keep: true}, binding.Recovery{Keep: true}},
		{"busy", rpc.Errorf(rpc.CodeBusy, "process 5 has it"), binding.Recovery{Keep: true}, binding.Recovery{Keep: true}},
		{"another writer", rpc.Errorf(-32600, "thread T already has an active writer"), binding.Recovery{Keep: true}, binding.Recovery{Keep: true}},
		{"overloaded", rpc.Errorf(-32001, "Server overloaded; retry later."), binding.Recovery{Keep: true}, binding.Recovery{Keep: true}},
		{"no rollout", rpc.Errorf(-32600, "no rollout found for thread id T"),
			binding.Recovery{Again: true, Reason: binding.ReasonThreadLost}, binding.Recovery{Again: true, Reason: binding.ReasonThreadLost}},
		{"not found", rpc.Errorf(-32600, "Thread not found: T"),
			binding.Recovery{Again: true, Reason: binding.ReasonThreadLost}, binding.Recovery{Again: true, Reason: binding.ReasonThreadLost}},
		{"rollout is empty", rpc.Errorf(-32603, "failed to read thread: rollout is empty"),
			binding.Recovery{Again: true, Reason: binding.ReasonResumeFailed}, binding.Recovery{Keep: true}},
		{"archived", rpc.Errorf(-32600, "session T is archived."), binding.Recovery{Again: true, Reason: binding.ReasonResumeFailed}, binding.Recovery{Keep: true}},
		{"bad id", rpc.Errorf(-32600, "invalid session id: x"), binding.Recovery{Again: true, Reason: binding.ReasonResumeFailed}, binding.Recovery{Keep: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := binding.FailureOf(c.err)
			if got := binding.AfterResumeFailure(f); got != c.resume {
				t.Errorf("after a resume: %+v, want %+v", got, c.resume)
			}
			if got := binding.AfterTurnFailure(f, true); got != c.turn {
				t.Errorf("after a turn: %+v, want %+v", got, c.turn)
			}
		})
	}
}

func TestFailuresOfTurns(t *testing.T) {
	for _, c := range []struct {
		failed       string
		bootstrapped bool
		want         binding.Recovery
	}{
		{`{"message":"full","codexErrorInfo":"contextWindowExceeded"}`, true, binding.Recovery{Again: true, Reason: binding.ReasonContextFull}},
		{`{"message":"full","codexErrorInfo":"contextWindowExceeded"}`, false, binding.Recovery{Keep: true}},
		{`{"message":"Invalid image in the request","codexErrorInfo":"badRequest"}`, false, binding.Recovery{Reason: binding.ReasonImageRefused}},
		{`{"message":"an invalid image","codexErrorInfo":"other"}`, false, binding.Recovery{Keep: true}},
		{`{"message":"no","codexErrorInfo":{"httpConnectionFailed":{}}}`, true, binding.Recovery{Keep: true}},
		{`{}`, true, binding.Recovery{Keep: true}},
	} {
		f, _ := binding.FailureOfTurn(value(t, []byte(c.failed)))
		if got := binding.AfterTurnFailure(f, c.bootstrapped); got != c.want {
			t.Errorf("after %s: %+v, want %+v", c.failed, got, c.want)
		}
	}
}
