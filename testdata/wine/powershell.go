// Powershell stands in for powershell.exe in Wine, whose own does nothing and reports success. It runs a
// line that has no character with a meaning in PowerShell, as Codex starts it for a hook.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	args := os.Args[1:]
	if len(args) != 3 || args[0] != "-NoProfile" || args[1] != "-Command" || strings.ContainsAny(args[2], "'\"`$&|;<>(){}[]@#%!^*?,=\r\n\t") {
		fmt.Fprintf(os.Stderr, "powershell.go can't run %q\n", args)
		os.Exit(1)
	}
	words := strings.Fields(args[2])
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) // PowerShell has no other status after a failed command
	}
}
