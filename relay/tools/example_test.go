package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"codex-bridge.example/relay/tools"
)

// clock is a Provider of one tool without arguments.
type clock struct{}

func (clock) Specs() []tools.Spec {
	return []tools.Spec{{
		Name: "time", Description: "Tells the time.", InputSchema: json.RawMessage(`{"type":"object"}`), Origin: "an example",
	}}
}

func (clock) Timeout(string) time.Duration { return 0 }

func (clock) Run(context.Context, tools.Call) (tools.Result, error) {
	return tools.Result{Content: []tools.Content{{Text: "It is noon."}}}, nil
}

func ExampleRunner() {
	runner := tools.NewRunner(tools.NewCatalogue(clock{}), tools.Options{})
	defer runner.Close()
	answer := runner.Answer(context.Background(), tools.Call{Thread: "thread-1", Turn: "turn-1", Name: "time"})
	text, _ := json.Marshal(answer)
	fmt.Println(string(text))
	// Output: {"contentItems":[{"type":"inputText","text":"It is noon."}],"success":true}
}

func ExampleSnapshot_Merge() {
	snapshot := tools.NewCatalogue(clock{}).Refresh()
	client := json.RawMessage(`[{"name":"weather","description":"Tells the weather.","inputSchema":{"type":"object"}}]`)
	merged, err := snapshot.Merge(client)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range tools.Names(merged) {
		fmt.Println(name)
	}
	_, err = snapshot.Merge(json.RawMessage(`[{"name":"time"}]`))
	fmt.Println(err)
	// Output:
	// weather
	// time
	// the client's tool "time" in dynamicTools has the name of the tool "time" of an example; give it another name
}

func ExampleFingerprint() {
	fingerprint, err := tools.Fingerprint(json.RawMessage(`[
		{"name":"b","description":"Does not count.","inputSchema":{"type":"object"}},
		{"name":"a","inputSchema":{"type":"object"}}
	]`))
	fmt.Println(fingerprint, err)
	// Output: [{"inputSchema":{"type":"object"},"name":"a"},{"inputSchema":{"type":"object"},"name":"b"}] <nil>
}

func ExampleConvert() {
	answer := tools.Convert(tools.Result{Content: []tools.Content{{Text: "done"}, {Image: "https://example.com/x.png"}}}, 1000)
	for _, item := range answer.Items {
		fmt.Println(item.Text)
	}
	// Output:
	// done
	// [An image is left out: only data URLs in base64 are passed on.]
}
