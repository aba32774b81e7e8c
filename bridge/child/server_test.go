package child_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

func serve(args []string) int {
	how, args := args[0], args[1:]
	switch how {
	case "talk":
		talk()
	case "garbage":
		fmt.Println("Welcome!")
		io.Copy(io.Discard, os.Stdin)
	case "long":
		fmt.Printf("{\"method\":\"long\",\"params\":{\"text\":%q}}\n", strings.Repeat("x", 1<<20))
		io.Copy(io.Discard, os.Stdin)
	case "cut": // ends within a message
		fmt.Print(`{"method":"cu`)
	case "greedy":
		for i := range 1000 {
			fmt.Printf("{\"id\":%d,\"method\":\"ask\"}\n", i)
		}
		io.Copy(io.Discard, os.Stdin)
	case "deaf": // ignores the end of its input and SIGTERM; its child, too, holds a connection
		signal.Ignore(syscall.SIGTERM)
		held := exec.Command(os.Args[0], "serve", "held", args[0])
		if err := held.Start(); err != nil {
			panic(err)
		}
		fmt.Println(`{"method":"ready"}`)
		time.Sleep(time.Hour)
	case "held":
		signal.Ignore(syscall.SIGTERM)
		hold(args[0])
	}
	return 0
}

// talk acts by the methods that it is called with.
func talk() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		switch m.Method {
		case "": // a response, which is reported
			say(message{Method: "answered", Params: lines.Bytes()})
		case "refuse":
			say(message{ID: m.ID, Error: json.RawMessage(`{"code":-32010,"message":"not \"allowed\"","data":{"rule":"x"}}`)})
		case "ask": // sends a notification and a request, and then responds
			say(message{Method: "before", Params: m.Params})
			say(message{ID: json.RawMessage(`"1"`), Method: "question", Params: m.Params})
			say(message{ID: m.ID, Result: json.RawMessage(`{}`)})
		case "silence":
		case "die":
			fmt.Fprintln(os.Stderr, "alas")
			syscall.Exit(3)
		case "count":
			for i := range 1000 {
				say(message{Method: "n", Params: fmt.Append(nil, i)})
			}
			say(message{ID: m.ID, Result: json.RawMessage(`null`)})
		default:
			if m.ID == nil {
				say(message{Method: "heard " + m.Method, Params: m.Params})
				continue
			}
			say(message{ID: m.ID, Result: append(append([]byte(`{"params":`), m.Params...), '}')})
		}
	}
	fmt.Fprint(os.Stderr, "end of input")
}

func say(m message) {
	line, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", line)
}
