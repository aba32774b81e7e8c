package main

import (
	"fmt"

	"codex-bridge/relay/hook"
)

// hooking is what the bridge reads of a hook's question, and the denial that it answers.
func hooking() ([]path, error) {
	payload := []byte(`{"session_id":"01a1fb6a-bc1d-7e93-af1c-a5bb99b64557","turn_id":"01a1fb6a-bc2f-7b01-8d3f-5a6b7c8d9e0f","transcript_path":null,` +
		`"cwd":"/home/user/project","hook_event_name":"PreToolUse","model":"gpt-6.1-sol","permission_mode":"default","tool_name":"Bash",` +
		`"tool_input":{"command":"cd bridge && go test ./... 2>&1 | tail -20"},"tool_use_id":"call_1"}`)
	denial := hook.Answer{Decision: hook.Deny, Reason: "Tests are run by people."}
	answered := func() error {
		if _, err := hook.ParseCall(hook.PreToolUse, payload); err != nil {
			return err
		}
		_, err := denial.Output(hook.PreToolUse)
		return err
	}
	if err := answered(); err != nil {
		return nil, fmt.Errorf("a hook's question: %w", err)
	}
	return []path{{"read and deny a hook's question", 1, "question", func() { _ = answered() }}}, nil
}
