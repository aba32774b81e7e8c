package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/child"
)

// Output runs Codex with args and returns its stdout.
func (c Command) Output(ctx context.Context, args ...string) (string, error) {
	what := strings.Join(append([]string{c.Path}, args[:min(2, len(args))]...), " ")
	env, err := childEnviron(c.Env)
	if err != nil {
		return "", err
	}
	ended, err := child.Run(ctx, child.Command{
		Args: slices.Concat([]string{c.Path}, c.Args, args), Env: env, MaxStdout: maxOutput, MaxStderr: 4096,
		Grace: time.Second, // a descendant of a script may hold the output open
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", what, err)
	case ended.Code != 0:
		return "", fmt.Errorf("%s: %s: %s", what, ended.Status, strings.TrimSpace(string(ended.Stderr)))
	}
	return string(ended.Stdout), nil
}

// loopback has the hosts that Codex reaches without a proxy.
const loopback = "127.0.0.1,localhost"

// Connect starts an app-server with a home folder, which it creates, and initializes the connection. The
// app-server installs no plugins. The caller closes the connection.
func (c Command) Connect(ctx context.Context, home string) (*child.Client, error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	env, err := childEnviron(Environ(orOwn(c.Env), map[string]string{
		"CODEX_HOME": home, "NO_PROXY": loopback, "no_proxy": loopback, // a stand-in for the model is reached directly
	}, nil))
	if err != nil {
		return nil, err
	}
	args := slices.Concat([]string{c.Path}, c.Args, []string{"app-server", "-c", "features.plugins=false"})
	server, err := child.Connect(ctx, child.ClientOptions{Command: args, Env: env, Dir: home})
	if err != nil {
		return nil, err
	}
	if _, err := server.Initialize(ctx, map[string]any{
		"clientInfo": map[string]string{"name": "codex-bridge", "version": "0"}, "capabilities": map[string]bool{"experimentalApi": true},
	}); err != nil {
		return nil, errors.Join(err, server.Close(ctx))
	}
	return server, nil
}

// CallInto sends a request to a Codex, and parses the result.
func CallInto(ctx context.Context, server *child.Client, result any, method string, params any) error {
	value, err := server.Call(ctx, method, params)
	if err != nil {
		return err
	}
	return json.Unmarshal(value.Raw(), result)
}

// WithHome returns the command with another home folder of Codex, and without other variables for Codex.
func (c Command) WithHome(home string) Command {
	c.Env = Environ(WithoutCodex(orOwn(c.Env)), map[string]string{"CODEX_HOME": home}, nil)
	return c
}

// orOwn returns env, or this process's environment if env is nil.
func orOwn(env []string) []string {
	if env == nil {
		return os.Environ()
	}
	return env
}
