//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A joined client gets the responses to all that it sent before the end of its input, in its own framing.
func TestJoinedClientInput(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	const initialize = `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"script","version":"1"}}}`
	const list = `{"id":2,"method":"thread/loaded/list","params":{}}`
	for name, test := range map[string]struct{ input, want string }{
		"lines":   {initialize + "\n" + list + "\n", "\n{\"id\":2,"},
		"headers": {fmt.Sprintf("Content-Length: %d\r\n\r\n%sContent-Length: %d\r\n\r\n%s", len(initialize), initialize, len(list), list), "\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, proxyArgv[0], proxyArgv[1:]...)
		var out, stderr bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.workspace, w.env, strings.NewReader(test.input), &out, &stderr
		if err := cmd.Run(); err != nil || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: %v; got %q; stderr %s", name, err, out.String(), &stderr)
		}
	}
}
