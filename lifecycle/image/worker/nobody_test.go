package worker_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/bridge/bridgetest"
	"codex-bridge/bridge/bridgetest/vectors"
	"codex-bridge/bridge/config"
	"codex-bridge/lifecycle/image/worker"
	"codex-bridge/rpc"
)

// asks is a Codex that sends the requests in the file of its first argument, a method per line, and
// writes the answers to the file of its second.
var asks = bridgetest.Role{Name: "asks", Play: func(files []string) int {
	methods, err := os.ReadFile(files[0])
	if err != nil {
		return 1
	}
	all := strings.Fields(string(methods))
	in := bufio.NewScanner(os.Stdin)
	in.Scan() // initialize
	for i, method := range all {
		fmt.Printf("{\"id\":%d,\"method\":%q,\"params\":{}}\n", i, method)
	}
	answers := make([]json.RawMessage, len(all))
	for range all {
		if !in.Scan() {
			return 1
		}
		var answer struct{ ID int }
		if err := json.Unmarshal(in.Bytes(), &answer); err != nil {
			return 1
		}
		answers[answer.ID] = json.RawMessage(strings.Clone(in.Text()))
	}
	text, err := json.Marshal(answers)
	if err != nil || os.WriteFile(files[1], text, 0o600) != nil {
		return 1
	}
	return 0
}}

// What codex asks while images are described is declined.
func TestNobodyVectors(t *testing.T) {
	var v struct {
		Cases []struct {
			Kind, Method string
			Written      []struct{ Result json.RawMessage }
		}
	}
	vectors.Read(t, "client.json", &v)
	var methods []string
	var wants []json.RawMessage
	for _, c := range v.Cases {
		if c.Kind == "server request without handler" { // the others are about the client's own requests, and its start
			methods, wants = append(methods, c.Method), append(wants, c.Written[0].Result)
		}
	}
	if len(methods) == 0 {
		t.Fatal("no cases")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	asked, answered := filepath.Join(folder, "asked"), filepath.Join(folder, "answered")
	if err := os.WriteFile(asked, []byte(strings.Join(methods, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	c := bridgetest.Start(t, worker.NewFeature(worker.New(worker.Options{
		Command: []string{self, asks.Name, asked, answered}, Env: os.Environ(),
	}), config.Default().Image, func() bool { return true }))
	c.Play("describe", `
editor> {"id":1,"method":"bridge/image/describe","params":{"images":[{"dataBase64":"`+webp+`"}]}}
editor< {"id":1,"error":{"code":-32011,"message":"<text>"}}
`)
	text, err := os.ReadFile(answered)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := rpc.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for got := range doc.Root().Elements() {
		checkNobody(t, methods[i], string(wants[i]), got)
		i++
	}
	if i != len(methods) {
		t.Errorf("%d answers to %d requests", i, len(methods))
	}
}

// checkNobody compares an answer with the vector's, or with its row in DEVIATIONS.md.
func checkNobody(t *testing.T, method, want string, got rpc.Value) {
	t.Helper()
	result := got.Get("result")
	var w, g any
	switch {
	case !strings.Contains(method, "/"): // legacy
		if !result.Get("decision").Get("denied").Exists() {
			t.Errorf("%s is answered %s", method, got.Raw())
		}
	case want == "{}":
		if string(got.Get("error").Get("code").Raw()) != "-32601" {
			t.Errorf("%s is answered %s, and no error", method, got.Raw())
		}
	case method == "item/tool/call": // the words are free
		if ok, is := result.Get("success").Bool(); ok || !is || !strings.Contains(string(result.Raw()), `"inputText"`) {
			t.Errorf("%s is answered %s", method, got.Raw())
		}
	default:
		if json.Unmarshal([]byte(want), &w) != nil || json.Unmarshal(result.Raw(), &g) != nil || fmt.Sprint(w) != fmt.Sprint(g) {
			t.Errorf("%s is answered %s, want %s", method, got.Raw(), want)
		}
	}
}
