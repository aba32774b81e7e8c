package codex

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
)

// Become runs Codex with the streams of this process and returns its status, since Windows
// can't replace a process. Ctrl-C reaches both, as they share the console; this process
// ignores it.
func Become(codex string, args, env []string) (status int, err error) {
	env, err = childEnviron(env)
	if err != nil {
		return 0, err
	}
	if err := CheckArgs(codex, args); err != nil {
		return 0, err
	}
	signal.Ignore(os.Interrupt)
	cmd := exec.Command(codex, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 0, &FindError{codex + " can't be run: " + err.Error(), installHint}
	}
	return 0, nil
}
