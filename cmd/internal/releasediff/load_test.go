package releasediff

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/cmd/internal/scripted"
)

// recorded returns the description of Codex 0.169.0 that Load returned, without the features.
func recorded(t *testing.T) *release.Release {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "codex-0.169.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := &release.Release{Unread: map[release.Part]string{release.PartFeatures: "not recorded"}}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// proxyOf starts a proxy that answers no request, and returns its address and a function for the requests.
func proxyOf(t *testing.T) (address string, reached func() []string) {
	t.Helper()
	var mu sync.Mutex
	var list []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, r.Method+" "+r.Host)
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

// The installed Codex has no difference from itself, and is read without the network. A newer one than 0.169.0 has the differences of its
// release notes, of each kind.
func TestLoad(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs(filepath.Join(repository, "testdata", "npm", "node_modules", ".bin", "codex"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := scripted.Folder("releasediff-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	proxy, reached := proxyOf(t)
	env := append(os.Environ(), "HTTPS_PROXY="+proxy, "HTTP_PROXY="+proxy, "ALL_PROXY="+proxy)
	got, err := Load(t.Context(), codex.Command{Path: path, Env: env}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if list := reached(); len(list) > 0 {
		t.Errorf("Codex reaches the network: %q", list)
	}
	for _, home := range []string{"models", "tools"} { // in which threads start; a connection may come too late for the proxy
		if text, err := os.ReadFile(filepath.Join(dir, home, "config.toml")); err != nil || !strings.Contains(string(text), "base_url = \"http://127.0.0.1:") {
			t.Errorf("%s: the provider is not on this machine: %q, %v", home, text, err)
		}
	}
	if runtime.GOOS != "linux" {
		delete(got.Unread, release.PartConfigKeys)
	}
	if len(got.Unread) > 0 {
		t.Errorf("unread: %v", got.Unread)
	}
	was := recorded(t)
	changes, err := Compare(was, got)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range changes {
		line, _, _ := strings.Cut(c.String(), "  (proposal")
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	if got.Version == was.Version {
		if len(lines) > 0 {
			t.Errorf("differences from itself: %q", lines)
		}
		return
	}
	for _, want := range []string{
		"new command flag sandbox --transparent-tcp",
		"new command flag exec-server --linux-sandbox-transparent-tcp",
		"new command flag exec-server --tcp-upstream-proxy=",
		"gone command stdio-to-uds",
		"new sent field ThreadItem mcpToolCall environmentId",
		"new sent type ThreadRealtimeListResponse",
		"changed default model: gpt-6.2-sol, was gpt-6.1-sol",
		"new model gpt-6.2-sol: low of low medium high xhigh max ultra",
		"new tool default model functions/send_message_to_user_async",
		"new config key features.network_proxy.transparent_tcp",
		"new config key permissions.NAME.network.transparent_tcp",
		"new config key features.guardianv2.async_elastic_budgeting",
		"new config key features.rollout_budget.limit_budget",
		"new config key features.token_budget.context_window_as_tool_output",
	} {
		if !slices.Contains(lines, want) && (runtime.GOOS == "linux" || !strings.Contains(want, "config key")) {
			t.Errorf("missing: %s", want)
		}
	}
	if t.Failed() {
		t.Logf("the differences are\n%s", strings.Join(lines, "\n"))
	}
}

// The description is the same whatever the order in which Codex lists names.
func TestRecordedIsEncoded(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "codex-0.169.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := recorded(t).Encode()
	if err != nil || !bytes.Equal(want, got) {
		t.Errorf("%v: the recorded description differs from its encoding", err)
	}
}

// Code that runs tools has their declarations in its description.
func TestToolsOf(t *testing.T) {
	body := `{"tools": [{"type": "web_search"}, {"type": "function", "name": "wait", "parameters": {"properties": {"ms": {}}}}],
		"input": [{"type": "message"}, {"type": "additional_tools", "tools": [{"type": "namespace", "name": "functions", "tools": [
		{"type": "custom", "name": "exec", "description": "Runs code.\ndeclare const tools: { run(args: {\n  // A command.\n  cmd: string;\n  env?: {\n    inner: string;\n  };\n}): Promise<{\n  output: string;\n}>; };\ndeclare const tools: { now(): Promise<unknown>; };"}]}]}]}`
	got, codeMode, err := toolsOf(scripted.Request{Body: json.RawMessage(body)})
	if err != nil || !codeMode {
		t.Fatalf("%v, %v", codeMode, err)
	}
	text, err := json.Marshal(got)
	if want := `{"functions/exec":[],"functions/exec/now":[],"functions/exec/run":["cmd","env"],"wait":["ms"],"web_search":[]}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	if _, _, err := toolsOf(scripted.Request{Body: json.RawMessage(`{}`)}); err == nil {
		t.Error("no tools are no error")
	}
}
