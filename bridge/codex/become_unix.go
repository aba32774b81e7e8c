//go:build unix

package codex

import "syscall"

// Become replaces this process by Codex with these arguments. It returns only on failure.
func Become(codex string, args, env []string) (status int, err error) {
	env, err = childEnviron(env)
	if err != nil {
		return 0, err
	}
	err = syscall.Exec(codex, append([]string{codex}, args...), env)
	return 0, &FindError{codex + " can't be run: " + err.Error(), installHint}
}
