package command_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"codex-bridge/bridge/bridgetest"
)

// The test's own program is the tool: it must run where there is no shell.
func TestMain(m *testing.M) { bridgetest.Main(m, bridgetest.Role{Name: "tool", Run: be}) }

func be(args []string) int {
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
	case "echo": // what came on stdin, the folder and the environment's names
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
	case "closes": // stdout, tells so, and goes on until it is told
		os.Stdout.Close()
		conn, err := net.Dial("tcp", args[0])
		if err != nil {
			return 1
		}
		_, _ = io.Copy(io.Discard, conn)
	case "leaves": // one behind, that holds stdout
		cmd := exec.Command(os.Args[0], "tool", "hangs", args[0])
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return 1
		}
		fmt.Print("the answer")
	case "hangs": // until it is ended; says so, and tells that it runs
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
