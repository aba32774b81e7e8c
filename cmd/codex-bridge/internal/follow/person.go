package follow

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/rpc"
)

// Person is the user at a terminal. Its methods may be called concurrently; it asks one question at
// a time.
type Person struct {
	screen  *Screen
	session string
	said    *Listener

	mu sync.Mutex
}

// NewPerson returns a Person whose answers are the lines of in, and whose questions name the
// session. The goroutine that reads the lines ends with in, or with the process.
func NewPerson(s *Screen, in io.Reader, session string) *Person {
	return &Person{screen: s, session: session, said: Listen(in)}
}

const (
	// A no refuses this command: Codex offers to end the turn instead, but accepts this answer
	// (measured).
	command     = "item/commandExecution/requestApproval"
	fileChange  = "item/fileChange/requestApproval"
	userInput   = "item/tool/requestUserInput"
	elicitation = "mcpServer/elicitation/request"
)

// Answer asks the user about a request of Codex and returns the result for Codex. ok is false for
// an unknown method. It shows the bridge's questions in full and accepts yes or no. Without asking,
// it declines a question of an MCP server, whose form a terminal can't show, and a question of
// another turn than the running one. The end of the input means no. The end of ctx cancels the
// question.
func (p *Person) Answer(ctx context.Context, method string, params rpc.Value) (result json.RawMessage, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if method == userInput {
		return p.questions(ctx, params), true
	}
	if method == elicitation {
		if params.Get("serverName").Is(hello.ElicitationServer) && params.Get("turnId").Kind() == rpc.Null {
			message, _ := params.Get("message").Text()
			return answer.Elicitation(answer.ToPerson, params, p.choose(ctx, message+"\nAllow it? [y] yes, ", false)), true
		}
		if answer.RouteElicitation(params, answer.Scope{Turn: p.screen.running(params)}) != answer.ToPerson {
			return answer.Elicitation(answer.Declined, params, answer.Denied), true
		}
		return answer.Elicitation(answer.ToPerson, params, p.ask(ctx, method, params, answer.ElicitationCard(params))), true
	}
	card, ok := answer.ApprovalCard(method, params, p.session)
	if !ok {
		return answer.Approval(method, params, answer.Denied)
	}
	outcome := answer.Unavailable
	if answer.IsOfTurn(params, p.screen.running(params)) {
		outcome = p.ask(ctx, method, params, card)
	}
	if method == command && !outcome.Approved() && outcome != answer.Cancelled {
		return json.RawMessage(`{"decision":"decline"}`), true
	}
	return answer.Approval(method, params, outcome)
}

// ask shows a card and reads the user's answer.
func (p *Person) ask(ctx context.Context, method string, params rpc.Value, card answer.Card) answer.Outcome {
	text := strings.Join(card.Lines, "\n") + "\n"
	if method == fileChange {
		item, _ := params.Get("itemId").Text()
		text += strings.Join(p.screen.patchOf(item), "\n") + "\n"
	}
	text += "Allow it? [y] once, "
	lasting := answer.SessionScope(method, params)
	if hint := params.Get("bridge"); hint.Exists() && hint.Get("remember").Len() == 0 {
		lasting = "" // it would count once
	}
	if lasting != "" {
		text += "[s] " + lasting + ", "
	}
	return p.choose(ctx, text, lasting != "")
}

// choose shows a question and reads the answer: y, s if lasting is true, or any other for no.
func (p *Person) choose(ctx context.Context, text string, lasting bool) answer.Outcome {
	line, err := p.prompt(ctx, text+"[n] no: ")
	switch {
	case ctx.Err() != nil:
		return answer.Cancelled
	case err != nil:
		return answer.Unavailable
	}
	switch word := strings.ToLower(strings.TrimSpace(line)); {
	case word == "y" || word == "yes":
		return answer.ApprovedOnce
	case lasting && (word == "s" || word == "session"):
		return answer.ApprovedSession
	}
	return answer.Denied
}

func (p *Person) questions(ctx context.Context, params rpc.Value) json.RawMessage {
	all := answer.Questions(params)
	if len(all) == 0 {
		return answer.Reply(nil, "")
	}
	if len(all) == 1 {
		line, _ := p.prompt(ctx, strings.Join(answer.Prompt(all), "\n")+"\n> ") // "" is no answer
		return answer.Reply(all, line)
	}
	var said []string
	for i, q := range all {
		text := strings.Join(answer.Prompt(all[i:i+1]), "\n") + "\n> "
		line, _ := p.prompt(ctx, text)
		said = append(said, q.ID+": "+line)
	}
	return answer.Reply(all, strings.Join(said, "\n"))
}

// prompt shows a text and waits for a line. It returns an error at the end of the input.
func (p *Person) prompt(ctx context.Context, text string) (string, error) {
	p.screen.pause(true)
	defer p.screen.pause(false)
	line, failed := p.said.Next(ctx, func() { p.screen.Interrupt(func(err io.Writer) { fmt.Fprintf(err, "%s", StripControls(text)) }) })
	if failed != nil {
		p.screen.Interrupt(func(err io.Writer) { fmt.Fprintln(err) })
	}
	return line, failed
}
