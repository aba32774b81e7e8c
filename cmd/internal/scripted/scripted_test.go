package scripted_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"codex-bridge.example/cmd/internal/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, script scripted.Script) *scripted.Server {
	t.Helper()
	s, err := scripted.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// user and tool return conversation items as Codex sends them.
func user(text string) map[string]any {
	return map[string]any{"type": "message", "role": "user", "content": []any{
		map[string]any{"type": "input_text", "text": text},
	}}
}

func tool(output string) map[string]any {
	return map[string]any{"type": "function_call_output", "call_id": "call_1", "output": output}
}

func post(ctx context.Context, t *testing.T, s *scripted.Server, input ...any) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "gpt-5.5", "stream": true, "input": input})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/responses", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// say returns the reply in short: one line for each event with content.
func say(t *testing.T, s *scripted.Server, input ...any) []string {
	t.Helper()
	response := post(t.Context(), t, s, input...)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return []string{"status " + response.Status}
	}
	var lines []string
	scanner := bufio.NewScanner(response.Body)
	for scanner.Scan() {
		data, ok := strings.CutPrefix(scanner.Text(), "data: ")
		if !ok {
			continue
		}
		var event struct {
			Type, Delta string
			Item        struct {
				Type, Name, Namespace, Arguments, Input string
				CallID                                  string `json:"call_id"`
				Content                                 []struct{ Text string }
			}
			Response struct {
				Error *struct{ Code, Message string }
			}
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		switch event.Type {
		case "response.output_text.delta":
			lines = append(lines, "delta "+event.Delta)
		case "response.output_item.done":
			switch item := event.Item; item.Type {
			case "message":
				lines = append(lines, "message "+item.Content[0].Text)
			default:
				lines = append(lines, strings.Join([]string{item.Type, item.CallID, item.Namespace, item.Name, item.Arguments + item.Input}, " "))
			}
		case "response.failed":
			lines = append(lines, "failed "+event.Response.Error.Code)
		case "response.completed":
			lines = append(lines, "completed")
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestVocabulary(t *testing.T) {
	for _, test := range []struct {
		name  string
		input []any
		want  []string
	}{
		{"text", []any{user("good day")}, []string{
			"delta Hello ", "delta from ", "delta the ", "delta scripted ", "delta model. ", "delta You ",
			"delta said: ", "delta good ", "delta day",
			"message Hello from the scripted model. You said: good day", "completed",
		}},
		{"shell", []any{user("RUN: echo a:b")}, []string{
			`function_call call_1  exec_command {"cmd":"echo a:b"}`, "completed",
		}},
		{"escalated", []any{user("ESCALATE: id")}, []string{
			`function_call call_1  exec_command {"cmd":"id","sandbox_permissions":"require_escalated"}`, "completed",
		}},
		{"parallel", []any{user("RUN: a\nRUN: b")}, []string{
			`function_call call_1  exec_command {"cmd":"a"}`, `function_call call_2  exec_command {"cmd":"b"}`, "completed",
		}},
		{"patch", []any{user("PATCH: a.txt\none\n\nRUN: not an order")}, []string{
			"custom_tool_call call_1  apply_patch *** Begin Patch\n*** Add File: a.txt\n+one\n+\n+RUN: not an order\n*** End Patch\n",
			"completed",
		}},
		{"call", []any{user(`CALL: issues/find {"q": 1}`)}, []string{
			`function_call call_1 issues find {"q": 1}`, "completed",
		}},
		{"item", []any{user(`ITEM: {"type":"function_call","call_id":"c9","name":"x","arguments":"{}"}`)}, []string{"function_call c9  x {}", "completed"}},
		{"ask", []any{user("ASK: Shall I?")}, []string{
			`function_call call_1  request_user_input {"questions":[{"header":"Choice","id":"choice","options":[` +
				`{"description":"Go on.","label":"Yes (Recommended)"},{"description":"Leave it.","label":"No"}],"question":"Shall I?"}]}`,
			"completed",
		}},
		{"slow", []any{user("SLOW: 1")}, []string{"delta Working… ", "delta done.", "message Working… done.", "completed"}},
		{"fail", []any{user("FAIL")}, []string{"failed invalid_prompt"}},
		{"fail with a status", []any{user("FAIL: 503")}, []string{"status 503 Service Unavailable"}},
		{"order inside a text", []any{user("please\nRUN: id")}, []string{
			"delta Hello ", "delta from ", "delta the ", "delta scripted ", "delta model. ", "delta You ",
			"delta said: ", "delta please\nRUN: ", "delta id",
			"message Hello from the scripted model. You said: please\nRUN: id", "completed",
		}},
		{"tool answered", []any{user("RUN: x"), tool("Chunk ID: 34ffa7\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nno\n")}, []string{
			"delta The ", "delta tool ", "delta ended ", "delta with ", "delta 3 ", "delta and ", "delta said: ", "delta no",
			"message The tool ended with 3 and said: no", "completed",
		}},
		{"context after the answer", []any{user("SAY: a"), user("<environment_context>x</environment_context>")}, []string{
			"delta a", "message a", "completed",
		}},
		{"word after a tool", []any{user("RUN: x"), tool("ok"), user("SAY: b")}, []string{
			"delta b", "message b", "completed",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, say(t, start(t, nil), test.input...)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestScript(t *testing.T) {
	s := start(t, scripted.Script{
		{When: "begin", Reply: scripted.Reply{scripted.Run("ls")}},
		{When: "README", Reply: scripted.Reply{scripted.Text("found"), scripted.AddFile("x", "y")}},
		{Reply: scripted.Reply{scripted.Text("any")}},
	})
	for _, step := range []struct {
		input []any
		want  string
	}{
		{[]any{user("let us begin")}, `function_call call_1  exec_command {"cmd":"ls"}`},
		{[]any{user("let us begin"), tool("README")}, "custom_tool_call call_2  apply_patch *** Begin Patch\n*** Add File: x\n+y\n*** End Patch\n"},
		{[]any{user("begin")}, "message any"},
		{[]any{user("SAY: by the vocabulary")}, "message by the vocabulary"},
	} {
		lines := say(t, s, step.input...)
		if got := lines[len(lines)-2]; got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
	}
	s.Add(scripted.Step{When: "later", Reply: scripted.Reply{scripted.Text("added")}})
	if lines := say(t, s, user("and later")); lines[1] != "message added" {
		t.Errorf("got %q", lines)
	}
	requests := s.Requests()
	if len(requests) != 5 || requests[0].UserText() != "let us begin" || !cmp.Equal(requests[1].ToolOutputs(), []string{"README"}) {
		t.Errorf("%d requests: %v", len(requests), requests)
	}
}

// A slow reply ends when Codex closes the connection, and when the server is closed: otherwise
// Close would not return.
func TestSlowReplyEndsEarly(t *testing.T) {
	s := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	gone := post(ctx, t, s, user("SLOW: 3600000"))
	defer gone.Body.Close()
	cancel()
	if _, err := io.ReadAll(gone.Body); err == nil {
		t.Error("the response completed")
	}
	held := post(t.Context(), t, s, user("SLOW: 3600000"))
	defer held.Body.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if b, _ := io.ReadAll(held.Body); strings.Contains(string(b), "response.completed") {
		t.Errorf("the response completed: %s", b)
	}
}

func TestPausedReply(t *testing.T) {
	release := make(chan struct{})
	s := start(t, scripted.Script{{Reply: scripted.Reply{scripted.Paused{Until: release}, scripted.Run("x")}}})
	response := post(t.Context(), t, s, user("go"))
	defer response.Body.Close()
	in := bufio.NewScanner(response.Body)
	for in.Scan() && !strings.Contains(in.Text(), "Working") {
	}
	close(release)
	rest := ""
	for in.Scan() {
		rest += in.Text()
	}
	if !strings.Contains(rest, "done.") || !strings.Contains(rest, "exec_command") || !strings.Contains(rest, "response.completed") {
		t.Errorf("after the release: %s", rest)
	}
}

func TestAwait(t *testing.T) {
	s := start(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fits := func(r scripted.Request) bool { return r.Contains("good day") }
	found := make(chan error, 1)
	go func() {
		_, err := s.Await(ctx, fits)
		found <- err
	}()
	say(t, s, user("good day"))
	if err := <-found; err != nil {
		t.Error(err)
	}
	if _, err := s.Await(ctx, fits); err != nil {
		t.Errorf("an earlier request: %v", err)
	}
	cancel()
	if _, err := s.Await(ctx, func(scripted.Request) bool { return false }); err == nil {
		t.Error("Await found a request that does not exist")
	}
}

func TestHome(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	if err := scripted.Home(dir, "http://127.0.0.1:1", "[features]\nx = true\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	want := `model = "gpt-5.5"
model_provider = "mock"

[features]
x = true

[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:1/v1"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	env, err := scripted.Env(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"CODEX_HOME=" + dir, "TMPDIR=" + dir + ".tmp"}, env); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
