//go:build unix

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/binding"
)

// Each case is a thread/start of a session, with or without a record. Words like "in1" stand for
// the fingerprints of another session that starts with the same settings.
type threadCase struct {
	Name  string
	Input struct {
		Tools           []map[string]json.RawMessage
		ExistingBinding json.RawMessage
		Config          struct {
			Mcp    struct{ Servers json.RawMessage }
			Memory struct{ Citations json.RawMessage }
		}
		Config0   map[string]any // of the thread
		Provider  *string
		AppServer map[string]json.RawMessage
		Params    struct {
			ContextEngine        struct{ Info map[string]json.RawMessage }
			ContextTokenBudget   json.RawMessage
			BootstrapContextMode string
		}
		Call struct {
			MCPServersFingerprint          string
			MCPServersFingerprintEvaluated *bool
			ContextEngineProjection        json.RawMessage
			FinalConfigPatch               map[string]any
			NativeCodeModeEnabled          *bool
			EnvironmentSelection           json.RawMessage
			NativeHookRelayGeneration      string
		}
		Plugin *struct {
			Enabled                 bool
			InputFingerprint        string
			EnabledPluginConfigKeys []string
		}
		PluginBuilt *struct {
			ConfigPatch   map[string]any
			Fingerprint   string
			PolicyContext pluginContext
		}
		PluginBuildError bool
		ResumeError      string
		ResumeReturns    string
	}
	Seed, Tree20260601 *threadOutcome
}

type pluginContext struct {
	Fingerprint string
	Apps        map[string]vectorApp
}

type threadOutcome struct {
	Requests                    []string
	Action                      string
	RotatedContextEngineBinding bool
	ReturnedThreadID            string
	PluginBuildCalls            float64
	BindingAfter                json.RawMessage
	LastRequestParams           map[string]any
	Error                       string
	Outcome                     string
}

const (
	recordKey = "<sessionFile>"
	learnKey  = "learn"
)

func TestThreadDecisionVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	notCompared := func(c threadCase) bool {
		e := c.Input.Call.MCPServersFingerprintEvaluated
		return e != nil && !*e
	}
	eachCase(t, "thread_decision.json", "cases", func(t *testing.T, c threadCase) { (&threadWorld{T: t, c: c}).play() },
		leftOut[threadCase]{"thread_decision.json | call: mcpServersFingerprintEvaluated false", notCompared})
}

// outcome returns what the seed has, or else the other version.
func (c threadCase) outcome() (want *threadOutcome, tree bool) {
	if c.Seed != nil {
		return c.Seed, false
	}
	return c.Tree20260601, true
}

// requested returns a member of the last request, or else another value.
func (o *threadOutcome) requested(member string, otherwise any) any {
	if v := o.LastRequestParams[member]; v != nil {
		return v
	}
	return otherwise
}

// started returns the thread and the model in Codex's response to a request that opens a thread.
func (o *threadOutcome) started() (id, model string) {
	var bound struct{ Model string }
	_ = json.Unmarshal(o.BindingAfter, &bound) // null has none
	if o.Action == "resumed" {
		return "new-thread", cmp.Or(bound.Model, "resp-model")
	}
	return cmp.Or(o.ReturnedThreadID, "new-thread"), cmp.Or(bound.Model, "resp-model")
}

// threadWorld is one case, and its Codex.
type threadWorld struct {
	*testing.T
	c       threadCase
	w       *assembled
	playing bool            // the request of the case; before it, the test learns the fingerprints
	learned binding.Binding // of a session that starts with the same settings
	apps    any             // config.apps of that session
	builds  int
}

func (p *threadWorld) play() {
	want, tree := p.c.outcome()
	if want == nil {
		p.Fatal("the case has no outcome")
	}
	in := p.c.Input
	mode := "only"
	if on := in.Call.NativeCodeModeEnabled; on != nil && !*on {
		mode = "off"
	}
	lightweight := in.Params.BootstrapContextMode == "lightweight"
	p.w = newAssembled(p.T, fmt.Sprintf("[thread]\ncode_mode = %q\nlightweight = %v\n", mode, lightweight), p.answer)
	p.w.initialize(nil)
	p.learn()
	p.putRecord()
	p.playing = true
	p.w.takeRequests()

	result, err := p.w.call("thread/start", p.asked(recordKey))
	var requests []string
	var last map[string]any
	for _, r := range p.w.takeRequests() {
		if strings.HasPrefix(r.Method, "thread/") {
			requests, last = append(requests, r.Method), r.Params
		}
	}
	if diff := gocmp.Diff(want.Requests, requests); diff != "" {
		p.Fatalf("requests (-want +got):\n%s", diff)
	}
	if p.builds != int(want.PluginBuildCalls) {
		p.Errorf("%d lookups of apps, want %v", p.builds, want.PluginBuildCalls)
	}
	told := result.Get("bridge")
	action, _ := told.Get("action").Text()
	id, _ := result.Get("thread").Get("id").Text()
	rotated, _ := told.Get("rotated").Bool()
	transient, _ := told.Get("transient").Bool()
	outcome := "new thread, bound"
	switch {
	case err != nil:
		outcome = "error"
	case action == "resumed":
		outcome = "resume"
	case rotated:
		outcome = "rotated (new thread, bound)"
	case transient:
		outcome = "transient"
	}
	if action != want.Action || id != want.ReturnedThreadID || rotated != want.RotatedContextEngineBinding || want.Outcome != "" && outcome != want.Outcome {
		p.Errorf("%s, %v; want %+v", result.Raw(), err, *want)
	}
	if (err != nil) != (want.Error != "") {
		p.Errorf("the error is %v, want %q", err, want.Error)
	}
	p.sameBinding(want.BindingAfter)
	p.sameParams(want, last, tree)
}

// answer answers as Codex.
func (p *threadWorld) answer(r request) (any, string) {
	in := p.c.Input
	want, _ := p.c.outcome()
	id, model := want.started()
	switch r.Method {
	case "thread/resume":
		switch text := in.ResumeError; {
		case strings.Contains(text, "client is closed"), strings.Contains(text, "exited"):
			return exitCodex{}, ""
		case text != "":
			return nil, text
		}
		id := r.Params["threadId"]
		if in.ResumeReturns != "" {
			id = in.ResumeReturns
		}
		return map[string]any{"thread": map[string]any{"id": id}, "model": model, "modelProvider": "openai", "cwd": "/w"}, ""
	case "thread/start":
		if !p.playing {
			id = "learned"
			config, _ := r.Params["config"].(map[string]any)
			p.apps = config["apps"]
		}
		return map[string]any{"thread": map[string]any{"id": id}, "model": model, "modelProvider": "openai", "cwd": "/w"}, ""
	case "plugin/installed":
		if p.builds++; p.playing && in.PluginBuildError {
			return nil, "can't be built"
		}
		var all []any
		for _, a := range p.vectorApps() {
			all = append(all, map[string]any{"name": a.MarketplaceName, "plugins": []any{map[string]any{"name": a.PluginName, "installed": true, "enabled": true}}})
		}
		return map[string]any{"marketplaces": all}, ""
	case "plugin/read":
		var of []any
		servers := []string{}
		for id, a := range p.vectorApps() {
			if a.PluginName == r.Params["pluginName"] {
				of, servers = append(of, map[string]any{"id": id}), a.McpServerNames
			}
		}
		return map[string]any{"plugin": map[string]any{"apps": of, "mcpServers": servers}}, ""
	case "app/list":
		var all []any
		for id := range p.vectorApps() {
			all = append(all, map[string]any{"id": id, "isAccessible": true})
		}
		return map[string]any{"data": all}, ""
	}
	return map[string]any{}, ""
}

// vectorApps returns the apps of the case's plugins: those that are looked up, or the bound ones.
func (p *threadWorld) vectorApps() map[string]vectorApp {
	if b := p.c.Input.PluginBuilt; b != nil {
		return b.PolicyContext.Apps
	}
	var record struct{ PluginAppPolicyContext pluginContext }
	_ = json.Unmarshal(p.c.Input.ExistingBinding, &record) // a text has none
	return record.PluginAppPolicyContext.Apps
}

// asked returns the parameters of thread/start.
func (p *threadWorld) asked(key string) map[string]any {
	in := p.c.Input
	want, _ := p.c.outcome()
	about := map[string]any{"sessionKey": key}
	all := map[string]any{
		"model": want.requested("model", "gpt-5.5"), "cwd": want.requested("cwd", "/w"), "approvalPolicy": "never", "approvalsReviewer": "user",
		"sandbox": "danger-full-access", "developerInstructions": want.requested("developerInstructions", "DI"), "dynamicTools": []any{}, "experimentalRawEvents": true, "persistExtendedHistory": true, "bridge": about,
	}
	if in.Tools != nil {
		all["dynamicTools"] = in.Tools
	}
	if in.Provider != nil {
		all["modelProvider"] = *in.Provider
	}
	for name, raw := range in.AppServer {
		all[name] = raw
	}
	if in.Call.EnvironmentSelection != nil {
		all["environments"] = in.Call.EnvironmentSelection
	}
	config := maps.Clone(in.Config0)
	if label := in.Call.MCPServersFingerprint; label != "" {
		if config == nil {
			config = make(map[string]any)
		}
		config["mcp_servers"] = map[string]any{label: map[string]any{"command": label}}
	}
	if config != nil {
		all["config"] = config
	}
	if in.Config.Mcp.Servers != nil {
		about["mcpServers"] = in.Config.Mcp.Servers
	}
	if info := in.Params.ContextEngine.Info; info != nil {
		info = maps.Clone(info)
		for name, raw := range map[string]json.RawMessage{
			"citationsMode": in.Config.Memory.Citations, "contextTokenBudget": in.Params.ContextTokenBudget, "projection": in.Call.ContextEngineProjection,
		} {
			if raw != nil {
				info[name] = raw
			}
		}
		about["contextEngine"] = info
	}
	if in.Plugin != nil {
		plugins := []any{}
		for _, id := range slices.Sorted(maps.Keys(p.vectorApps())) {
			a := p.vectorApps()[id]
			plugins = append(plugins, map[string]any{
				"configKey": a.ConfigKey, "marketplaceName": a.MarketplaceName, "pluginName": a.PluginName,
				"allowDestructiveActions": a.AllowDestructiveActions, "enabled": slices.Contains(in.Plugin.EnabledPluginConfigKeys, a.ConfigKey),
			})
		}
		about["plugins"] = map[string]any{"enabled": in.Plugin.Enabled, "plugins": plugins}
	}
	return all
}

// learn starts another session with the same settings for its fingerprints.
func (p *threadWorld) learn() {
	p.w.must("thread/start", p.asked(learnKey))
	p.learned, _ = p.record(learnKey)
	p.builds = 0
}

func (p *threadWorld) state() *store.Store {
	s, err := p.w.record.Store(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	return s
}

// record returns the binding of a session. ok is false without one.
func (p *threadWorld) record(key string) (b binding.Binding, ok bool) {
	kept, found, err := p.state().BindingBySession(p.Context(), key)
	if err != nil {
		p.Fatal(err)
	}
	if !found || kept.Record == "" {
		return b, false
	}
	b, dropped, err := binding.Read([]byte(kept.Record), key, kept.Updated)
	if err != nil || len(dropped) > 0 {
		p.Fatalf("%s: %v, %v", kept.Record, err, dropped)
	}
	return b, true
}

// putRecord writes the record of the case.
func (p *threadWorld) putRecord() {
	raw := p.c.Input.ExistingBinding
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	text := string(p.translated(raw))
	if json.Unmarshal(raw, &text) != nil { // not a text: the record itself
		text = string(p.translated(raw))
	}
	var named struct{ ThreadID string }
	_ = json.Unmarshal([]byte(text), &named)
	if err := p.state().PutBinding(context.Background(), store.Binding{Session: recordKey, Thread: named.ThreadID, Record: text, Updated: time.Now()}); err != nil {
		p.Fatal(err)
	}
}

// translated returns a record with the bridge's fingerprints instead of the case's words.
func (p *threadWorld) translated(raw json.RawMessage) json.RawMessage {
	var record map[string]any
	if json.Unmarshal(raw, &record) != nil {
		return raw
	}
	in := p.c.Input
	if label := in.Call.MCPServersFingerprint; label != "" && record["mcpServersFingerprint"] == label {
		record["mcpServersFingerprint"] = p.learned.MCPServers
	}
	if in.Plugin != nil && record["pluginAppsInputFingerprint"] == in.Plugin.InputFingerprint {
		record["pluginAppsInputFingerprint"] = p.learned.PluginAppsInput
	}
	if b := in.PluginBuilt; b != nil && record["pluginAppsFingerprint"] == b.Fingerprint {
		record["pluginAppsFingerprint"] = p.learned.PluginApps
		if context, ok := record["pluginAppPolicyContext"].(map[string]any); ok && context["fingerprint"] == b.PolicyContext.Fingerprint {
			record["pluginAppPolicyContext"] = p.learned.PluginPolicy
		}
	}
	text, err := json.Marshal(record)
	if err != nil {
		p.Fatal(err)
	}
	return text
}

// sameBinding compares fingerprints by their source, and times only if they are kept.
func (p *threadWorld) sameBinding(raw json.RawMessage) {
	p.Helper()
	got, bound := p.record(recordKey)
	if string(raw) == "null" || len(raw) == 0 {
		if bound {
			p.Errorf("unexpected binding: %+v", got)
		}
		return
	}
	if !bound {
		p.Fatal("no binding is kept")
	}
	want, dropped, err := binding.Read(p.translated(raw), recordKey, time.Now())
	if err != nil || len(dropped) > 0 {
		p.Fatal(err, dropped)
	}
	if want.CreatedAt == "<time>" {
		want.CreatedAt = got.CreatedAt
	}
	want.UpdatedAt = got.UpdatedAt
	want.Replacement = got.Replacement                  // see DEVIATIONS.md
	if p.c.Input.Call.NativeHookRelayGeneration != "" { // see DEVIATIONS.md
		want.HookGeneration = got.HookGeneration
	}
	for _, pair := range [][2]*string{
		{&want.UserMCPServers, &got.UserMCPServers}, {&want.Environments, &got.Environments}, {&want.DynamicTools, &got.DynamicTools},
	} {
		if binding.SameFingerprint(*pair[0], *pair[1]) {
			*pair[0] = *pair[1]
		}
	}
	if binding.SameEngine(want.ContextEngine, got.ContextEngine) {
		want.ContextEngine = got.ContextEngine
	}
	if diff := gocmp.Diff(want, got, masked); diff != "" {
		p.Errorf("the binding (-want +got):\n%s", diff)
	}
}

// sameParams compares the last request. DEVIATIONS.md has the differences.
func (p *threadWorld) sameParams(o *threadOutcome, got map[string]any, tree bool) {
	p.Helper()
	in, want := p.c.Input, o.LastRequestParams
	if len(o.Requests) == 0 {
		return
	}
	if o.Requests[len(o.Requests)-1] == "thread/resume" {
		want["cwd"] = o.requested("cwd", "/w")
		delete(want, "persistExtendedHistory")
	} else {
		want["serviceName"] = "codex-bridge"
	}
	config, _ := want["config"].(map[string]any)
	gotConfig, _ := got["config"].(map[string]any)
	if tree {
		delete(want, "personality")
		config["features.code_mode_only"] = true
		delete(config, "features.apply_patch_streaming_events")
	}
	if in.Call.MCPServersFingerprint != "" { // of the request itself
		delete(gotConfig, "mcp_servers")
	}
	if config["apps"] != nil && in.PluginBuilt != nil {
		config["apps"] = p.apps
	}
	for name := range in.Call.FinalConfigPatch {
		delete(config, name)
		delete(gotConfig, name)
	}
	if diff := gocmp.Diff(want, got, masked); diff != "" {
		p.Errorf("the parameters (-want +got):\n%s", diff)
	}
}
