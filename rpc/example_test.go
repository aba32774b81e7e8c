package rpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"codex-bridge.example/rpc"
)

func ExampleParser_Message() {
	var parser rpc.Parser
	m, err := parser.Message([]byte(`{"id":1,"method":"thread/start","params":{"cwd":"/src"}}`), true)
	if err != nil {
		fmt.Println(err)
		return
	}
	cwd, _ := m.Params.Get("cwd").Text()
	fmt.Println(m.Method, cwd)

	_, err = parser.Message([]byte(`{"id":2,"method":5}`), true)
	var invalid *rpc.MessageError
	if errors.As(err, &invalid) {
		fmt.Printf("%s\n", rpc.EncodeError(invalid.ID, invalid.Err))
	}
	// Output:
	// thread/start /src
	// {"error":{"code":-32600,"message":"method is a number, not a string"},"id":2}
}

// A Patch keeps the bytes that it does not change.
func ExamplePatch() {
	m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"turn/start","params":{"effort":"high", "n":1e2}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	patch := rpc.NewPatch(m)
	patch.Set(m.Params, "effort", []byte(`"low"`))
	fmt.Printf("%s\n", patch.Bytes())
	// Output: {"id":1,"method":"turn/start","params":{"effort":"low", "n":1e2}}
}

// counter handles the responses of Codex and lets all other lines pass.
type counter struct{ responses int }

func (c *counter) WantsMethod([]byte, bool) bool { return false }
func (c *counter) WantsResponse([]byte) bool     { return true }
func (c *counter) MayWantResponse() bool         { return true }
func (c *counter) Handle([]byte)                 { c.responses++ }
func (c *counter) HandleTooLong([]byte)          {}

func ExamplePump() {
	codex := strings.NewReader(`{"method":"turn/started","params":{}}
{"id":1,"result":{}}
{"method":"turn/completed","params":{}}
`)
	var c counter
	if err := rpc.NewPump(rpc.NewLineSink(os.Stdout), &c, &c, 1<<20).Run(codex); err != nil {
		fmt.Println(err)
	}
	fmt.Println("handled:", c.responses)
	// Output:
	// {"method":"turn/started","params":{}}
	// {"method":"turn/completed","params":{}}
	// handled: 1
}

// The client's first bytes decide the framing of both directions.
func ExampleDetectFraming() {
	in := strings.NewReader("Content-Length: 37\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"m"}`)
	var out bytes.Buffer
	source, sink := rpc.DetectFraming(in, &out, 1<<20)
	line, err := source.Next()
	fmt.Printf("%s%v\n", line, err)
	sink.WriteMessage([]byte(`{"id":1,"result":{}}`))
	fmt.Printf("%q\n", out.String())
	// Output:
	// {"id":1,"method":"m"}
	// <nil>
	// "Content-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
}
