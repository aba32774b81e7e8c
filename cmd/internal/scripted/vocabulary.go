package scripted

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"codex-bridge.example/bridge/display"
)

// Vocabulary returns the answer to a user's text. If its first line starts with one of these words,
// it is an order. The answer to any other text is a sentence that repeats it:
//
//	RUN: CMD                a shell command
//	ESCALATE: CMD           a shell command that asks to leave the sandbox
//	PATCH: PATH             a patch that adds the file; the lines that follow are its content
//	CALL: TOOL JSON         a function call; TOOL may be NAMESPACE/TOOL
//	ITEM: JSON              an item of the Responses API as it is
//	SLOW: MILLISECONDS      a message that takes that long
//	ASK: QUESTION           a question to the user (request_user_input)
//	SAY: TEXT               exactly this text
//	FAIL, FAIL: STATUS      response.failed, or an HTTP status
//
// Orders on several lines make one reply with parallel calls. The answer to an invalid order is a
// text with the problem.
func Vocabulary(text string) Reply {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var reply Reply
	for i, line := range lines {
		word, rest, _ := strings.Cut(line, ":")
		rest = strings.TrimSpace(rest)
		switch word {
		case "RUN":
			reply = append(reply, Run(rest))
		case "ESCALATE":
			reply = append(reply, Escalate(rest))
		case "PATCH":
			body := strings.Join(lines[i+1:], "\n")
			if body == "" {
				body = "hello"
			}
			return append(reply, AddFile(rest, body))
		case "CALL":
			reply = append(reply, call(rest))
		case "ITEM":
			var item Raw
			if err := json.Unmarshal([]byte(rest), &item); err != nil {
				return Reply{Text("ITEM takes a JSON object, not " + strconv.Quote(rest) + ".")}
			}
			reply = append(reply, item)
		case "SLOW":
			ms, err := strconv.Atoi(rest)
			if err != nil {
				return Reply{Text("SLOW takes milliseconds, not " + strconv.Quote(rest) + ".")}
			}
			reply = append(reply, Slow{For: time.Duration(ms) * time.Millisecond})
		case "ASK":
			reply = append(reply, Ask(rest))
		case "SAY":
			reply = append(reply, Text(rest))
		case "FAIL":
			// Not a status: use 0, the failure in the stream.
			status, _ := strconv.Atoi(rest)
			return Reply{Fail{Status: status, Message: "The scripted model was told to fail."}}
		default:
			if len(reply) == 0 {
				return Reply{Text("Hello from the scripted model. You said: " + strings.TrimSpace(text))}
			}
			// Ignore a line after an order that is not an order itself.
		}
	}
	return reply
}

// call parses "TOOL JSON" or "NAMESPACE/TOOL JSON".
func call(text string) Item {
	tool, arguments, _ := strings.Cut(text, " ")
	if arguments = strings.TrimSpace(arguments); arguments == "" {
		arguments = "{}"
	}
	if !json.Valid([]byte(arguments)) {
		return Text("CALL takes a tool and JSON, not " + strconv.Quote(text) + ".")
	}
	c := Call{Tool: tool, Arguments: json.RawMessage(arguments)}
	if namespace, name, ok := strings.Cut(tool, "/"); ok {
		c.Namespace, c.Tool = namespace, name
	}
	return c
}

// maxQuote is the number of characters of a tool's output that the model repeats.
const maxQuote = 200

// Quote returns the answer to tool outputs, one sentence each.
func Quote(outputs []string) Reply {
	sentences := make([]string, len(outputs))
	for i, output := range outputs {
		sentences[i] = describeOutput(output)
	}
	return Reply{Text(strings.Join(sentences, "\n"))}
}

// describeOutput returns a sentence about one output. Codex puts a header before the output of a
// command (a random chunk id, a wall time, the exit code) that ends in "Output:". The sentence
// repeats only the exit code, so that the answer is reproducible.
func describeOutput(output string) string {
	header, body, ok := strings.Cut(output, "Output:\n")
	if !ok {
		header, body = "", output
	}
	body = strings.TrimSpace(body)
	body = display.ClipRunes(body, maxQuote)
	if body == "" {
		body = "nothing"
	}
	for line := range strings.Lines(header) {
		for _, label := range []string{"Process exited with code ", "Exit code: "} {
			if code, ok := strings.CutPrefix(strings.TrimSpace(line), label); ok {
				return fmt.Sprintf("The tool ended with %s and said: %s", code, body)
			}
		}
	}
	return "The tool said: " + body
}

// Script has the prepared answers of a demo or a test. The first remaining step that fits answers a
// request; each step answers once. Vocabulary answers other requests.
type Script []Step

// Step is one prepared answer.
type Step struct {
	// When must be a part of the last input of the model: the user's last message, or the output of
	// a later tool call. Empty fits everything.
	When  string
	Reply Reply
}

// next removes the step that answers text from the script.
func (s *Script) next(text string) (Reply, bool) {
	for i, step := range *s {
		if strings.Contains(text, step.When) {
			*s = append((*s)[:i:i], (*s)[i+1:]...)
			return step.Reply, true
		}
	}
	return nil, false
}
