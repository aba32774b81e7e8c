package acp_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest"

	sdk "github.com/coder/acp-go-sdk"
)

// The test binary is also the agent.
func TestMain(m *testing.M) {
	bridgetest.Main(m, bridgetest.Role{Name: "agent", Run: be}, bridgetest.Role{Name: "held", Run: func(args []string) int {
		signal.Ignore(syscall.SIGTERM)
		hold(args[0])
		return 0
	}})
}

type late struct{ open chan struct{} }

func (l *late) Read(p []byte) (int, error) {
	<-l.open
	return os.Stdin.Read(p)
}

func hold(address string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	var b [1]byte
	_, _ = conn.Read(b[:])
}

// fake is an agent that runs the commands of its prompt.
type fake struct {
	sdk.Agent // what is not here is not called
	conn      *sdk.AgentSideConnection
	how       string
	cancelled chan struct{}
}

func be(how []string) int {
	f := &fake{cancelled: make(chan struct{}, 1)}
	if len(how) > 0 {
		f.how = how[0]
	}
	switch f.how {
	case "mute":
		time.Sleep(time.Hour)
	case "broken":
		fmt.Fprintln(os.Stderr, "no licence")
		syscall.Exit(4)
	case "noise":
		fmt.Println("Welcome!")
	}
	in := &late{open: make(chan struct{})} // the package writes its own fields when it already reads
	f.conn = sdk.NewAgentSideConnection(f, os.Stdout, in)
	close(in.open)
	<-f.conn.Done()
	return 0
}

func (f *fake) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	r := sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber, AuthMethods: []sdk.AuthMethod{}, AgentCapabilities: sdk.AgentCapabilities{LoadSession: f.how == "loads"},
	}
	if f.how == "old" {
		r.ProtocolVersion = 0
	}
	return r, nil
}

func (f *fake) NewSession(_ context.Context, p sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	if f.how == "login" {
		return sdk.NewSessionResponse{}, sdk.NewAuthRequired(nil)
	}
	return sdk.NewSessionResponse{SessionId: "s1"}, nil
}

func (f *fake) LoadSession(ctx context.Context, p sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	f.say(ctx, "of old: "+string(p.SessionId)) // its history
	return sdk.LoadSessionResponse{}, nil
}

func (f *fake) Cancel(context.Context, sdk.CancelNotification) error {
	f.cancelled <- struct{}{}
	return nil
}

func (f *fake) say(ctx context.Context, text string) {
	if err := f.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: "s1", Update: sdk.UpdateAgentMessageText(text)}); err != nil {
		panic(err)
	}
}

// Prompt runs the command on each line.
func (f *fake) Prompt(ctx context.Context, p sdk.PromptRequest) (sdk.PromptResponse, error) {
	stop := sdk.StopReasonEndTurn
	for line := range strings.Lines(p.Prompt[0].Text.Text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "say":
			f.say(ctx, rest)
		case "env":
			f.say(ctx, os.Getenv(rest))
		case "cwd":
			dir, _ := os.Getwd()
			f.say(ctx, dir)
		case "flood":
			for range 20_000 {
				f.say(ctx, "word ")
			}
		case "run", "edit", "both", "fetch":
			f.say(ctx, f.ask(ctx, word, rest))
		case "read":
			_, err := f.conn.ReadTextFile(ctx, sdk.ReadTextFileRequest{SessionId: "s1", Path: rest})
			f.say(ctx, fmt.Sprint(err))
		case "terminal":
			_, err := f.conn.CreateTerminal(ctx, sdk.CreateTerminalRequest{SessionId: "s1", Command: rest})
			f.say(ctx, fmt.Sprint(err))
		case "wait": // until it is told to stop
			f.say(ctx, "waiting")
			<-f.cancelled
			return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
		case "hang": // for good
			f.say(ctx, "hanging")
			select {}
		case "leave": // one that outlives everything
			held := exec.Command(os.Args[0], "held", rest)
			if err := held.Start(); err != nil {
				panic(err)
			}
		case "fail":
			return sdk.PromptResponse{}, &sdk.RequestError{Code: -32000, Message: "failed", Data: map[string]any{"message": rest}}
		case "die":
			fmt.Fprintln(os.Stderr, "alas")
			syscall.Exit(3)
		case "refuse":
			stop = sdk.StopReasonRefusal
		}
	}
	return sdk.PromptResponse{StopReason: stop}, nil
}

func (f *fake) ask(ctx context.Context, word, rest string) string {
	call := sdk.ToolCallUpdate{ToolCallId: "c1", Title: sdk.Ptr(rest)}
	switch word {
	case "run":
		call.Kind, call.RawInput = sdk.Ptr(sdk.ToolKindExecute), map[string]any{"command": rest}
	case "edit":
		call.Kind, call.Locations = sdk.Ptr(sdk.ToolKindEdit), []sdk.ToolCallLocation{{Path: rest}}
	case "both": // as editing tools that have a member of that name
		call.Kind, call.Locations = sdk.Ptr(sdk.ToolKindEdit), []sdk.ToolCallLocation{{Path: rest}}
		call.RawInput = map[string]any{"command": "create", "path": rest}
	case "fetch":
		call.Kind, call.RawInput = sdk.Ptr(sdk.ToolKindFetch), map[string]any{"url": rest}
	}
	answer, err := f.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{SessionId: "s1", ToolCall: call, Options: []sdk.PermissionOption{
		{OptionId: "always", Kind: sdk.PermissionOptionKindAllowAlways, Name: "a"}, {OptionId: "yes", Kind: sdk.PermissionOptionKindAllowOnce, Name: "y"},
		{OptionId: "no", Kind: sdk.PermissionOptionKindRejectOnce, Name: "n"},
	}})
	switch {
	case err != nil:
		return err.Error()
	case answer.Outcome.Selected != nil:
		return string(answer.Outcome.Selected.OptionId)
	}
	return "cancelled"
}
