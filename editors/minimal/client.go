// Command minimal is a whole editor for Codex: it sends one text, prints what streams back
// and asks in the terminal what Codex asks. It speaks JSON Lines.
//
//	go run ./editors/minimal "what is in this folder?"
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

type object = map[string]any

type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

func main() {
	if err := run(strings.Join(os.Args[1:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, "minimal:", err)
		os.Exit(1)
	}
}

func run(text string) error {
	codex := exec.Command("codex-bridge", "app-server")
	codex.Stderr = os.Stderr
	in, _ := codex.StdinPipe() // the first call can't fail
	out, _ := codex.StdoutPipe()
	if err := codex.Start(); err != nil {
		return err
	}
	encoder := json.NewEncoder(in)                   // a line a message
	send := func(m object) { _ = encoder.Encode(m) } // a codex that has gone is noticed below
	send(object{"id": 1, "method": "initialize", "params": object{"clientInfo": object{"name": "minimal", "version": "1"}}})
	send(object{"method": "initialized"})
	send(object{"id": 2, "method": "thread/start", "params": object{}})
	terminal := bufio.NewReader(os.Stdin)
	for receive := json.NewDecoder(out); ; {
		var m message
		if err := receive.Decode(&m); err != nil {
			return errors.Join(err, codex.Wait())
		}
		var p struct {
			Delta, Command string
			Thread         struct{ ID string }
			Turn           struct{ Status string }
		}
		_ = json.Unmarshal(m.Params, &p) // what is of another shape is not looked at
		switch {
		case m.Error != nil:
			return errors.New(m.Error.Message)
		case m.Method == "" && m.ID == 2.0:
			_ = json.Unmarshal(m.Result, &p)
			send(object{"id": 3, "method": "turn/start", "params": object{
				"threadId": p.Thread.ID, "input": []object{{"type": "text", "text": text}},
			}})
		case m.Method == "item/agentMessage/delta":
			fmt.Print(p.Delta)
		case strings.HasSuffix(m.Method, "/requestApproval"):
			fmt.Fprintf(os.Stderr, "%s %s\naccept? [y/N] ", m.Method, p.Command)
			line, _ := terminal.ReadString('\n')
			answer := "decline"
			if strings.TrimSpace(line) == "y" {
				answer = "accept"
			}
			send(object{"id": m.ID, "result": object{"decision": answer}})
		case m.Method != "" && m.ID != nil:
			send(object{"id": m.ID, "error": object{"code": -32601, "message": "unknown"}})
		case m.Method == "turn/completed":
			fmt.Println()
			in.Close()
			return codex.Wait()
		}
	}
}
