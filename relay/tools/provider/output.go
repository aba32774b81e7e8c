package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/relay/tools"
)

// outputDetails are a tool's details of its success.
type outputDetails struct {
	Status   *string      `json:"status"`
	ExitCode *json.Number `json:"exitCode"`
	TimedOut *bool        `json:"timedOut"`
}

// successStatuses are the statuses that are not a failure, including those of work that
// continues in the background.
var successStatuses = []string{"", "0", "ok", "success", "completed", "recorded", "pending", "started", "running", "yielded"}

// ParseOutput parses a command's stdout, or the result of a server. It returns an error for an object
// with contentItems that are wrong. The model and the tool's author read that error.
func ParseOutput(stdout []byte) (tools.Result, error) {
	members := parseObject(stdout)
	if members["contentItems"] == nil {
		return tools.Result{Content: textContent(stdout)}, nil
	}
	wrong := func(what string, args ...any) (tools.Result, error) {
		return tools.Result{}, errors.New("the tool's output has contentItems but is invalid: " + fmt.Sprintf(what, args...))
	}
	var items []json.RawMessage
	if json.Unmarshal(members["contentItems"], &items) != nil || items == nil {
		return wrong("contentItems is not a list")
	}
	var r tools.Result
	for i, raw := range items {
		c, err := parseItem(raw)
		if err != nil {
			return wrong("contentItems[%d] %v", i, err)
		}
		r.Content = append(r.Content, c)
	}
	var success *bool
	if text, ok := members["success"]; ok && json.Unmarshal(text, &success) != nil {
		return wrong("success is neither true nor false")
	}
	var d outputDetails
	if text, ok := members["details"]; ok && json.Unmarshal(text, &d) != nil {
		return wrong("in details, status must be a string, exitCode a number and timedOut true or false")
	}
	r.Failed = success != nil && !*success || d.isFailure()
	if r.Failed && members["details"] != nil {
		r.Content = append(r.Content, tools.Content{Text: "\nDetails: " + string(members["details"])})
	}
	return r, nil
}

// parseObject returns the members of stdout if it is a JSON object, else nil.
func parseObject(stdout []byte) map[string]json.RawMessage {
	if trimmed := bytes.TrimSpace(stdout); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil // most output is text, which need not be scanned
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(stdout, &members) != nil {
		return nil
	}
	return members
}

func (d outputDetails) isFailure() bool {
	switch {
	case d.TimedOut != nil && *d.TimedOut:
		return true
	case d.ExitCode != nil:
		if code, err := d.ExitCode.Float64(); err != nil || code != 0 {
			return true
		}
	}
	return d.Status != nil && !slices.Contains(successStatuses, strings.ToLower(strings.TrimSpace(*d.Status)))
}

func parseItem(raw json.RawMessage) (tools.Content, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return tools.Content{}, errors.New("is not an object")
	}
	kind, ok := stringValue(members["type"])
	if !ok {
		return tools.Content{}, errors.New("has no type")
	}
	switch kind {
	case "inputText":
		text, ok := stringValue(members["text"])
		if !ok {
			return tools.Content{}, errors.New("has no text")
		}
		return tools.Content{Text: text}, nil
	case "inputImage":
		url, ok := stringValue(members["imageUrl"])
		if !ok {
			return tools.Content{}, errors.New("has no imageUrl")
		}
		if url == "" { // content without text and image would be an empty text
			url = "data:,"
		}
		return tools.Content{Image: url}, nil
	}
	return tools.Content{Text: fmt.Sprintf("[%d bytes of a content of the type %.64q, which is not passed on]", len(raw), kind)}, nil
}

func stringValue(raw json.RawMessage) (string, bool) {
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// textContent returns output as text.
func textContent(printed []byte) []tools.Content {
	s := strings.ToValidUTF8(string(printed), "\uFFFD")
	if s == "" {
		return nil
	}
	return []tools.Content{{Text: s}}
}
