package provider_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
)

// TestMain runs the test binary as a tool or a server, because there may be no shell.
func TestMain(m *testing.M) {
	bridgetest.Main(m, bridgetest.Role{Name: "tool", Run: playTool}, bridgetest.Role{Name: "serve", Run: playServer})
}

func playTool(args []string) int {
	what, args := args[0], args[1:]
	switch what {
	case "say": // TEXT, CODE, STDERR
		if len(args) > 1 {
			fmt.Fprint(os.Stderr, args[2])
		}
		fmt.Print(args[0])
		if len(args) > 1 {
			code, _ := strconv.Atoi(args[1])
			return code
		}
	case "echo": // prints stdin, the folder and the environment's names
		text, _ := io.ReadAll(os.Stdin)
		dir, _ := os.Getwd()
		fmt.Printf("%s|%s|", text, dir)
		for _, pair := range os.Environ() {
			name, _, _ := strings.Cut(pair, "=")
			fmt.Print(name, " ")
		}
	case "dies":
		fmt.Print("half of")
		fmt.Fprint(os.Stderr, "what is left")
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		select {}
	case "closes": // closes stdout and waits for the test
		os.Stdout.Close()
		conn, err := net.Dial("tcp", args[0])
		if err != nil {
			return 1
		}
		_, _ = io.Copy(io.Discard, conn)
	case "leaves": // leaves a child that holds stdout
		cmd := exec.Command(os.Args[0], "tool", "hangs", args[0])
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return 1
		}
		fmt.Print("the answer")
	case "hangs": // connects to the test and waits until it is ended
		fmt.Print("begun")
		fmt.Fprint(os.Stderr, "and waits")
		conn, err := net.Dial("tcp", args[0])
		if err != nil {
			return 1
		}
		_, _ = io.Copy(io.Discard, conn)
	case "hangs with a child":
		cmd := exec.Command(os.Args[0], "tool", "hangs", args[0])
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		_ = cmd.Run()
	case "much":
		line := strings.Repeat("x", 1<<20)
		for {
			if _, err := fmt.Print(line); err != nil {
				return 0
			}
		}
	}
	return 0
}
