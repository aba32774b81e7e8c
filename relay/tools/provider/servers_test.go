package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func playServer(args []string) int {
	how, args := args[0], args[1:]
	switch how {
	case "mcp":
		return serveMCP()
	case "noisy": // prints other lines too
		fmt.Println("[INFO] a server starts\n\n{'a': 1}\n{\"level\": 30}\n   \t\n" + strings.Repeat("x", 1<<20))
		return serveMCP()
	case "once": // FILE: dies at once when it is there
		file, err := os.OpenFile(args[0], os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, "there is one already")
			return 5
		}
		file.Close()
		return serveMCP()
	case "strict": // exits on any message before initialize
		return serveStrict(false)
	case "full": // reads nothing after listing its tools
		return serveStrict(true)
	case "jsonrpc":
		return serveJSONRPC()
	case "broken":
		fmt.Fprintln(os.Stderr, "no such configuration")
		return 4
	case "silent":
		fmt.Println("thinking")
		io.Copy(io.Discard, os.Stdin)
	case "deaf": // reads nothing and stays
		time.Sleep(time.Hour)
	case "endless": // sends a message without an end
		fmt.Print(`{"a":"`)
		for {
			if _, err := fmt.Print(strings.Repeat("x", 1<<16)); err != nil {
				return 0
			}
		}
	}
	return 0
}

type text struct {
	Text string `json:"text"`
}

// newMCP returns an MCP server with a tool for each kind of result.
func newMCP() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, &mcp.ServerOptions{PageSize: 3})
	add := func(name string, run func(context.Context, *mcp.ServerSession, text) *mcp.CallToolResult) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "does " + name},
			func(ctx context.Context, r *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
				return run(ctx, r.Session, in), nil, nil
			})
	}
	say := func(content ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: content} }
	add("echo", func(_ context.Context, _ *mcp.ServerSession, in text) *mcp.CallToolResult {
		return say(&mcp.TextContent{Text: in.Text})
	})
	add("files.read", func(context.Context, *mcp.ServerSession, text) *mcp.CallToolResult {
		return say(&mcp.TextContent{Text: "read"})
	})
	add("fail", func(_ context.Context, _ *mcp.ServerSession, in text) *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}
	})
	add("all", func(context.Context, *mcp.ServerSession, text) *mcp.CallToolResult {
		size := int64(9)
		return say(
			&mcp.TextContent{Text: "a text"},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("png")},
			&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("wave")},
			&mcp.ResourceLink{URI: "file:///a", Name: "a", MIMEType: "text/plain", Size: &size, Description: "The first."},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", MIMEType: "text/plain", Text: "inside"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///c", MIMEType: "image/gif", Blob: []byte("gif")}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///d", Blob: []byte("blob")}},
		)
	})
	s.AddTool(&mcp.Tool{Name: "structured", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}}, nil
		})
	add("hang", func(ctx context.Context, s *mcp.ServerSession, in text) *mcp.CallToolResult { // until it is cancelled, which the file tells
		os.WriteFile(in.Text, []byte("running"), 0o600)
		<-ctx.Done()
		os.WriteFile(in.Text, []byte("cancelled"), 0o600)
		return say()
	})
	add("die", func(_ context.Context, _ *mcp.ServerSession, in text) *mcp.CallToolResult {
		fmt.Fprint(os.Stderr, in.Text)
		syscall.Exit(3)
		return nil
	})
	add("hush", func(context.Context, *mcp.ServerSession, text) *mcp.CallToolResult {
		os.Stdout.Close()
		select {}
	})
	add("big", func(context.Context, *mcp.ServerSession, text) *mcp.CallToolResult {
		return say(&mcp.TextContent{Text: strings.Repeat("x", 32<<20)})
	})
	add("where", func(context.Context, *mcp.ServerSession, text) *mcp.CallToolResult {
		dir, _ := os.Getwd()
		return say(&mcp.TextContent{Text: dir + "\n" + strings.Join(os.Environ(), "\n")})
	})
	add("learn", func(_ context.Context, _ *mcp.ServerSession, in text) *mcp.CallToolResult { // one more tool
		add(in.Text, func(context.Context, *mcp.ServerSession, text) *mcp.CallToolResult {
			return say(&mcp.TextContent{Text: "learnt"})
		})
		return say()
	})
	add("sample", func(ctx context.Context, s *mcp.ServerSession, _ text) *mcp.CallToolResult { // asks the client what it does not offer
		_, err := s.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1}) //nolint:staticcheck // that is the question
		_, other := s.Elicit(ctx, &mcp.ElicitParams{Message: "more?"})
		return say(&mcp.TextContent{Text: fmt.Sprint(err != nil, other != nil)})
	})
	return s
}

func serveMCP() int {
	if err := newMCP().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serveStrict exits on a message before initialize. With stops, it reads nothing after
// listing its tools.
func serveStrict(stops bool) int {
	in := json.NewDecoder(os.Stdin)
	for first := true; ; first = false {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if in.Decode(&m) != nil {
			return 0
		}
		if first && m.Method != "initialize" {
			fmt.Fprintln(os.Stderr, "not initialized:", m.Method)
			return 1
		}
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"strict","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a"},{"name":"b.c","title":"B","inputSchema":null},{"name":"b_c","inputSchema":{"type":"object"}},{"name":"d d"}]}}`+"\n", m.ID)
			if stops {
				time.Sleep(time.Hour)
			}
		case "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32004,"message":"not today"}}`+"\n", m.ID)
		}
	}
}

// serveJSONRPC speaks the bridge's own protocol.
func serveJSONRPC() int {
	names := []string{"echo", "items", "other", "odd", "refuse", "die", "hang", "learn"}
	running := make(chan context.CancelFunc, 1)
	var s *jrpc2.Server
	s = jrpc2.NewServer(handler.Map{
		"tools/list": handler.New(func(context.Context, struct{}) any {
			list := []map[string]any{}
			for _, name := range names {
				list = append(list, map[string]any{"name": name, "description": "does " + name, "inputSchema": map[string]any{"type": "object"}})
			}
			return map[string]any{"tools": list}
		}),
		"tools/call": handler.New(func(ctx context.Context, call struct {
			Name          string
			Arguments     text
			ThreadID, Cwd string
		}) (any, error) {
			switch call.Name {
			case "echo":
				return call.Arguments.Text + " " + call.ThreadID + " " + call.Cwd, nil
			case "items":
				return json.RawMessage(`{"contentItems":[{"type":"inputText","text":"t"},{"type":"inputImage","imageUrl":"data:image/png;base64,AA=="},{"type":"x"}],"success":false}`), nil
			case "other":
				return json.RawMessage(`{"a":[1,2]}`), nil
			case "odd":
				return json.RawMessage(`{"contentItems":"none"}`), nil
			case "die":
				fmt.Fprint(os.Stderr, call.Arguments.Text)
				syscall.Exit(3)
			case "hang":
				ctx, cancel := context.WithCancel(ctx)
				running <- cancel
				os.WriteFile(call.Arguments.Text, []byte("running"), 0o600)
				<-ctx.Done()
				os.WriteFile(call.Arguments.Text, []byte("cancelled"), 0o600)
				return "", nil
			case "learn":
				names = append(names, call.Arguments.Text)
				return "", s.Notify(ctx, "tools/changed", nil)
			}
			return nil, jrpc2.Errorf(-7, "not %s", call.Name)
		}),
		"$/cancelRequest": handler.New(func(_ context.Context, what struct{ ID int }) error {
			if what.ID > 0 {
				(<-running)()
			}
			return nil
		}),
	}, &jrpc2.ServerOptions{AllowPush: true, Concurrency: 8})
	fmt.Println("[INFO] a server starts")
	if err := s.Start(channel.Line(os.Stdin, os.Stdout)).Wait(); err != nil {
		return 1
	}
	return 0
}
