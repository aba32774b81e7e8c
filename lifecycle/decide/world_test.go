package decide_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge/lifecycle/apps"
	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/decide"
	"codex-bridge/lifecycle/engine"
	"codex-bridge/lifecycle/fingerprint"
	"codex-bridge/lifecycle/params"
	"codex-bridge/lifecycle/servers"
	"codex-bridge/rpc"
)

// toolsOf is the fingerprint of a catalogue, as another package of the bridge makes it.
func toolsOf(t rapid.TB, tools []map[string]json.RawMessage) string {
	t.Helper()
	list := make([]string, 0, len(tools))
	for _, tool := range tools {
		tool = maps.Clone(tool)
		delete(tool, "description")
		text, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		c, err := fingerprint.Canonical(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(c))
	}
	slices.Sort(list)
	return "[" + strings.Join(list, ",") + "]"
}

// world does what the vectors' system did around the decision.
type world struct {
	*testing.T
	c        vector
	requests []string
	builds   int
	last     json.RawMessage // params of the last request
}

func (w *world) build() (*apps.Config, error) {
	w.builds++
	if w.c.Input.PluginBuildError {
		return nil, errors.New("can't be built")
	}
	b := w.c.Input.PluginBuilt
	file := fmt.Sprintf(`{"schemaVersion":1,"threadId":"","pluginAppPolicyContext":%s}`, b.PolicyContext)
	read, _, err := binding.Read([]byte(file), "", binding.Options{Now: now})
	if err != nil {
		w.Fatal(err)
	}
	return &apps.Config{Patch: b.ConfigPatch, Output: b.Fingerprint, Input: b.InputFingerprint, Policy: read.PluginPolicy}, nil
}

// inputs makes of the case what the decision is made of.
func (w *world) inputs() (in decide.Inputs, patch json.RawMessage) {
	i := &w.c.Input
	config := value(w, i.Config)
	var err error
	if patch, err = servers.Patch(config.Get("mcp").Get("servers"), ""); err != nil {
		w.Fatal(err)
	}
	if patch != nil {
		if in.UserMCPServers, err = fingerprint.Digest(patch); err != nil {
			w.Fatal(err)
		}
	}
	in.DynamicTools = toolsOf(w.T, i.Tools)
	in.MCPServers, in.Evaluated = i.Call.MCPServersFingerprint, i.Call.MCPServersFingerprintEvaluated
	if i.Call.EnvironmentSelection != nil {
		if in.Environments, err = fingerprint.Text(i.Call.EnvironmentSelection); err != nil {
			w.Fatal(err)
		}
	}
	if i.Plugin != nil {
		in.Plugins = decide.Plugins{Enabled: i.Plugin.Enabled, Input: i.Plugin.InputFingerprint, EnabledKeys: i.Plugin.EnabledPluginConfigKeys}
	}
	if info := i.Params.ContextEngine.Info; info != nil {
		for name, raw := range map[string]json.RawMessage{
			"citationsMode": config.Get("memory").Get("citations").Raw(), "contextTokenBudget": i.Params.ContextTokenBudget,
			"projection": i.Call.ContextEngineProjection,
		} {
			if raw != nil {
				info[name] = raw
			}
		}
		text, err := json.Marshal(info)
		if err != nil {
			w.Fatal(err)
		}
		e, err := engine.Read(value(w, text))
		if err != nil {
			w.Fatal(err)
		}
		if in.ContextEngine, err = e.Binding(); err != nil {
			w.Fatal(err)
		}
	}
	return in, patch
}

func value(t rapid.TB, text []byte) rpc.Value {
	t.Helper()
	if len(text) == 0 {
		return rpc.Value{}
	}
	doc, err := rpc.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

// file is the text of the binding's file, nil where there is none.
func (w *world) file() []byte {
	raw := w.c.Input.ExistingBinding
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	return raw
}

// asked is thread/start as a client of the bridge would send it.
func (w *world) asked() json.RawMessage {
	i := w.c.Input
	p := map[string]any{
		"model": "gpt-5.5", "cwd": "/w", "approvalPolicy": "never", "approvalsReviewer": "user", "sandbox": "danger-full-access",
		"developerInstructions": "DI", "dynamicTools": i.Tools, "experimentalRawEvents": true, "persistExtendedHistory": true,
		"bridge": map[string]any{"sessionKey": "k"},
	}
	if i.Tools == nil {
		p["dynamicTools"] = []any{}
	}
	if i.Provider != nil {
		p["modelProvider"] = *i.Provider
	}
	for name, raw := range i.AppServer {
		p[name] = raw
	}
	if i.Call.EnvironmentSelection != nil {
		p["environments"] = i.Call.EnvironmentSelection
	}
	if i.Config0 != nil {
		p["config"] = i.Config0
	}
	text, err := json.Marshal(p)
	if err != nil {
		w.Fatal(err)
	}
	return text
}

// send is Codex.
func (w *world) send(method string, p json.RawMessage) (decide.Answer, error) {
	w.requests, w.last = append(w.requests, method), p
	if method == "thread/start" {
		return decide.Answer{Thread: "new-thread", Model: "resp-model", ModelProvider: "openai"}, nil
	}
	switch text := w.c.Input.ResumeError; {
	case strings.Contains(text, "client is closed"), strings.Contains(text, "exited"):
		return decide.Answer{}, errors.New(text)
	case text != "":
		return decide.Answer{}, rpc.Errorf(rpc.CodeInvalidRequest, "%s", text)
	}
	thread, _ := value(w, p).Get("threadId").Text()
	if other := w.c.Input.ResumeReturns; other != "" {
		thread = other
	}
	return decide.Answer{Thread: thread, Model: "resp-model", ModelProvider: "openai"}, nil
}

// run is start-or-resume.
func (w *world) run() (got done, after binding.Binding, stored bool) {
	const session = "<sessionFile>"
	var b binding.Binding
	if file := w.file(); file != nil {
		b, _, _ = binding.Read(file, session, binding.Options{Now: now})
	}
	in, patch := w.inputs()
	run := decide.Run{SessionFile: session, Cwd: "/w", Model: "gpt-5.5", HookGeneration: w.c.Input.Call.NativeHookRelayGeneration}
	o := params.Options{ServiceName: "codex-bridge", Config: params.Config{
		UserServers: patch, Final: w.c.Input.Call.FinalConfigPatch, CodeMode: params.CodeModeOnly,
		Lightweight: w.c.Input.Params.BootstrapContextMode == "lightweight",
	}}
	if on := w.c.Input.Call.NativeCodeModeEnabled; on != nil && !*on {
		o.Config.CodeMode = params.CodeModeOff
	}
	after, stored = b, b.Bound()
	d := decide.Thread(b, in)
	if d.Action == decide.Build {
		var err error
		in.Plugins.Config, err = w.build()
		in.Plugins.Failed = err != nil
		d = decide.Thread(b, in)
	}
	if d.Action == decide.Resume {
		p, err := params.Resume(w.asked(), b.ThreadID, o)
		if err != nil {
			w.Fatal(err)
		}
		a, err := w.send("thread/resume", p)
		if err == nil {
			after, stored = decide.Resumed(b, run, in, a), true
			got.Action, got.ReturnedThreadID, got.Outcome = "resumed", a.Thread, "resume"
			return got, after, stored
		}
		s := decide.AfterResume(decide.FailureOf(err))
		if s.Keep {
			got.Error, got.Outcome = err.Error(), "error"
			return got, after, stored
		}
		d = decide.Decision{Action: decide.Start, Reason: s.Reason}
	}
	if in.Plugins.Enabled && in.Plugins.Config == nil {
		c, err := w.build()
		if err != nil {
			w.Fatal(err)
		}
		in.Plugins.Config = c
	}
	if in.Plugins.Config != nil {
		o.Config.Apps = in.Plugins.Config.Patch
	}
	p, err := params.Start(w.asked(), o)
	if err != nil {
		w.Fatal(err)
	}
	a, err := w.send("thread/start", p)
	if err != nil {
		w.Fatal(err)
	}
	got.Action, got.ReturnedThreadID, got.RotatedContextEngineBinding = "started", a.Thread, d.Action == decide.Rotate
	switch {
	case d.Action == decide.Rotate:
		got.Outcome = "rotated (new thread, bound)"
	case d.Action.Binds():
		got.Outcome = "new thread, bound"
	default:
		got.Outcome = "transient"
	}
	if d.Action.Binds() {
		if after, err = decide.Started(run, in, a); err != nil {
			w.Fatal(err)
		}
		stored = true
	}
	return got, after, stored
}
