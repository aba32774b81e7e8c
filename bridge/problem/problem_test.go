package problem_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"codex-bridge.example/bridge/problem"
)

// Words of Go do not reach a person, however the error is wrapped. The rest of the text stays.
func TestText(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5432}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for want, err := range map[string]error{
		"it was stopped":                                     context.Canceled,
		"reading: it took too long; try again":               fmt.Errorf("reading: %w; try again", context.DeadlineExceeded),
		"a: it was stopped\nb: it took too long":             errors.Join(fmt.Errorf("a: %w", context.Canceled), fmt.Errorf("b: %w", os.ErrDeadlineExceeded)),
		"127.0.0.1:5432: connection refused":                 refused,
		`Get "http://x": 127.0.0.1:5432: connection refused`: &url.Error{Op: "Get", URL: "http://x", Err: refused},
		`the host "no.invalid" is not found`: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
			Err: "no such host", Name: "no.invalid", Server: "192.0.2.1:53", IsNotFound: true}},
		"x: the connection was closed":              fmt.Errorf("x: %w", &net.OpError{Op: "read", Net: "unix", Err: net.ErrClosed}),
		`the program "sed" is not in PATH`:          &exec.Error{Name: "sed", Err: exec.ErrNotFound},
		"EOFs: the data ended":                      fmt.Errorf("EOFs: %w", io.EOF),
		"the data ended too early":                  io.ErrUnexpectedEOF,
		"open /x: permission denied":                &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES},
		`"context canceled" is what the user wrote`: errors.New(`"context canceled" is what the user wrote`),
	} {
		if got := problem.Text(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
