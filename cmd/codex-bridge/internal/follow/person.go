package follow

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"codex-bridge/relay/answer"
	"codex-bridge/rpc"
)

// Person is who sits at a terminal. Its methods may be called by several goroutines; one
// question is put at a time.
type Person struct {
	screen *Screen
	said   *Listener

	mu sync.Mutex
}

// NewPerson makes a Person who writes lines to in. The goroutine that reads them ends with
// in, or with the process.
func NewPerson(s *Screen, in io.Reader) *Person {
	return &Person{screen: s, said: Listen(in)}
}

const (
	// A no to a command is a no to that command: Codex offers to end the turn instead, and
	// takes this (measured).
	command     = "item/commandExecution/requestApproval"
	userInput   = "item/tool/requestUserInput"
	elicitation = "mcpServer/elicitation/request"
)

// Answer is what the person says to a request of Codex's; ok is false for one that people
// are not asked. Who says nothing more has said no.
func (p *Person) Answer(ctx context.Context, method string, params rpc.Value) (result json.RawMessage, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if method == userInput {
		return p.questions(ctx, params), true
	}
	card, ok := answer.ApprovalCard(method, params, "")
	if method == elicitation {
		card, ok = answer.ElicitationCard(params), true
	}
	if !ok {
		return nil, false
	}
	said := p.put(ctx, card.Title+"\n"+card.Description+"\nAllow it? [y] once, [s] for this session, [n] no: ")
	outcome := answer.Denied
	switch strings.ToLower(strings.TrimSpace(said)) {
	case "y", "yes":
		outcome = answer.ApprovedOnce
	case "s", "session":
		outcome = answer.ApprovedSession
	}
	switch {
	case method == command && outcome == answer.Denied:
		return json.RawMessage(`{"decision":"decline"}`), true
	case method == elicitation:
		return answer.Elicitation(answer.ToPerson, params, outcome), true
	}
	return answer.Approval(method, params, outcome)
}

func (p *Person) questions(ctx context.Context, params rpc.Value) json.RawMessage {
	all := answer.Questions(params)
	if len(all) == 0 {
		return answer.Reply(nil, "")
	}
	if len(all) == 1 {
		return answer.Reply(all, p.put(ctx, strings.Join(answer.Prompt(all), "\n")+"\n> "))
	}
	var said []string
	for i, q := range all {
		text := strings.Join(answer.Prompt(all[i:i+1]), "\n") + "\n> "
		said = append(said, q.ID+": "+p.put(ctx, text))
	}
	return answer.Reply(all, strings.Join(said, "\n"))
}

// put shows a text and waits for a line; "" when none comes.
func (p *Person) put(ctx context.Context, text string) string {
	p.screen.pause(true)
	defer p.screen.pause(false)
	line, failed := p.said.Next(ctx, func() { p.screen.Aside(func(err io.Writer) { fmt.Fprintf(err, "%s", Plain(text)) }) })
	if failed != nil {
		p.screen.Aside(func(err io.Writer) { fmt.Fprintln(err) })
	}
	return line
}
