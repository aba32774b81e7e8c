package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codex-bridge/relay/tools"
)

// details are what a tool may tell of its success, other than by saying so.
type details struct {
	Status   *string      `json:"status"`
	ExitCode *json.Number `json:"exitCode"`
	TimedOut *bool        `json:"timedOut"`
}

// good are the states of a tool that has not failed. One that has begun something that
// goes on without it has not failed.
var good = []string{"", "0", "ok", "success", "completed", "recorded", "pending", "started", "running", "yielded"}

// Parse reads what a command has printed. The error says, to the model and to who wrote
// the tool, what is wrong with an object that has contentItems.
func Parse(stdout []byte) (tools.Result, error) {
	members := object(stdout)
	if members["contentItems"] == nil {
		return tools.Result{Content: text(stdout)}, nil
	}
	wrong := func(what string, args ...any) (tools.Result, error) {
		return tools.Result{}, errors.New("the tool's output has contentItems, and can't be read: " + fmt.Sprintf(what, args...))
	}
	var items []json.RawMessage
	if json.Unmarshal(members["contentItems"], &items) != nil || items == nil {
		return wrong("they are no list")
	}
	var r tools.Result
	for i, raw := range items {
		c, err := item(raw)
		if err != nil {
			return wrong("contentItems[%d] %v", i, err)
		}
		r.Content = append(r.Content, c)
	}
	var success *bool
	if text, ok := members["success"]; ok && json.Unmarshal(text, &success) != nil {
		return wrong("success is neither true nor false")
	}
	var d details
	if text, ok := members["details"]; ok && json.Unmarshal(text, &d) != nil {
		return wrong("details has no status that is a text, exitCode that is a number or timedOut that is true or false")
	}
	r.Failed = success != nil && !*success || d.failed()
	if r.Failed && members["details"] != nil {
		r.Content = append(r.Content, tools.Content{Text: "\nDetails: " + string(members["details"])})
	}
	return r, nil
}

// object is what is printed, if that is an object, and nil if not.
func object(stdout []byte) map[string]json.RawMessage {
	if trimmed := bytes.TrimSpace(stdout); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil // most is text, which need not be scanned
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(stdout, &members) != nil {
		return nil
	}
	return members
}

func (d details) failed() bool {
	switch {
	case d.TimedOut != nil && *d.TimedOut:
		return true
	case d.ExitCode != nil:
		if code, err := d.ExitCode.Float64(); err != nil || code != 0 {
			return true
		}
	}
	return d.Status != nil && !slices.Contains(good, strings.ToLower(strings.TrimSpace(*d.Status)))
}

func item(raw json.RawMessage) (tools.Content, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return tools.Content{}, errors.New("is no object")
	}
	kind, ok := word(members["type"])
	if !ok {
		return tools.Content{}, errors.New("has no type")
	}
	switch kind {
	case "inputText":
		text, ok := word(members["text"])
		if !ok {
			return tools.Content{}, errors.New("has no text")
		}
		return tools.Content{Text: text}, nil
	case "inputImage":
		url, ok := word(members["imageUrl"])
		if !ok {
			return tools.Content{}, errors.New("has no imageUrl")
		}
		if url == "" { // a content with neither would be an empty text
			url = "data:,"
		}
		return tools.Content{Image: url}, nil
	}
	return tools.Content{Text: fmt.Sprintf("[%d bytes of a content of the type %q, which is not passed on]", len(raw), kind)}, nil
}

func word(raw json.RawMessage) (string, bool) {
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// text is what is printed as it is.
func text(printed []byte) []tools.Content {
	s := strings.ToValidUTF8(string(printed), "\uFFFD")
	if s == "" {
		return nil
	}
	return []tools.Content{{Text: s}}
}
