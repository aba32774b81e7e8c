package handlers_test

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"codex-bridge/bridge/bridgetest"
)

// The test's own program is the handler: it must run where there is no shell.
func TestMain(m *testing.M) { bridgetest.Main(m, bridgetest.Role{Name: "handler", Play: handle}) }

func handle(args []string) int {
	how, args := args[0], args[1:]
	switch how {
	case "print": // TEXT
		io.Copy(io.Discard, os.Stdin)
		fmt.Print(args[0])
	case "exit": // CODE, STDERR, STDOUT
		code, _ := strconv.Atoi(args[0])
		fmt.Fprint(os.Stderr, args[1])
		fmt.Print(strings.Join(args[2:], ""))
		return code
	case "keep": // FILE: what came on stdin
		text, _ := io.ReadAll(os.Stdin)
		os.WriteFile(args[0], text, 0o600)
	case "where": // denies with the folder, and the environment's names
		dir, _ := os.Getwd()
		fmt.Fprintf(os.Stderr, "%s\n%s", dir, strings.Join(os.Environ(), "\n"))
		return 2
	case "hang": // FILE, made when it hangs
		if len(args) > 0 {
			os.WriteFile(args[0], nil, 0o600)
		}
		time.Sleep(time.Hour)
	case "much":
		line := strings.Repeat("x", 1<<16)
		for {
			if _, err := fmt.Println(line); err != nil {
				return 0
			}
		}
	}
	return 0
}
