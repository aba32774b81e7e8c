// Command minimal is a complete client of Codex. It sends one message, prints the reply as it
// streams, and asks for approvals in the terminal. It speaks JSON Lines.
//
//	go run ./editors/minimal "what is in this folder?"
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
)

type object = map[string]any

func main() {
	codex := exec.Command("codex-bridge", "app-server")
	codex.Stderr = os.Stderr
	in, _ := codex.StdinPipe() // a first call returns no error
	out, _ := codex.StdoutPipe()
	if err := codex.Start(); err != nil {
		log.Fatal(err)
	}
	lines, terminal := json.NewEncoder(in), bufio.NewReader(os.Stdin)
	send := func(m object) { _ = lines.Encode(m) } // Decode below reports a dead process
	send(object{"id": 1, "method": "initialize", "params": object{"clientInfo": object{"name": "minimal", "version": "1"}}})
	send(object{"method": "initialized"})
	send(object{"id": 2, "method": "thread/start", "params": object{}})
	for receive := json.NewDecoder(out); ; {
		var m struct {
			ID     any
			Method string
			Params json.RawMessage
			Result struct{ Thread struct{ ID string } }
			Error  *struct{ Message string }
		}
		if err := receive.Decode(&m); err != nil {
			log.Fatal("codex-bridge closed the connection: ", err)
		}
		var p struct{ Delta, Command string }
		_ = json.Unmarshal(m.Params, &p) // other methods have other fields
		switch {
		case m.Error != nil:
			log.Fatal(m.Error.Message)
		case m.Method == "" && m.ID == 2.0:
			text := object{"type": "text", "text": strings.Join(os.Args[1:], " ")}
			send(object{"id": 3, "method": "turn/start", "params": object{"threadId": m.Result.Thread.ID, "input": []object{text}}})
		case m.Method == "item/agentMessage/delta":
			fmt.Print(p.Delta)
		case strings.HasSuffix(m.Method, "/requestApproval"):
			fmt.Fprintf(os.Stderr, "%s %s\naccept? [y/N] ", m.Method, p.Command)
			line, _ := terminal.ReadString('\n')
			decision := map[bool]string{true: "accept", false: "decline"}[strings.TrimSpace(line) == "y"]
			send(object{"id": m.ID, "result": object{"decision": decision}})
		case m.Method != "" && m.ID != nil:
			send(object{"id": m.ID, "error": object{"code": -32601, "message": "unknown"}})
		case m.Method == "turn/completed":
			fmt.Println()
			in.Close()
			_ = codex.Wait()
			return
		}
	}
}
