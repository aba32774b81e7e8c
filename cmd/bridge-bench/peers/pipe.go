package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// pipe is the two ends of a conversation.
type pipe struct {
	io.Reader
	io.WriteCloser
}

// start starts the program. wait waits for its end.
func start(program string, args []string) (p *pipe, wait func() error, err error) {
	cmd := exec.Command(program, args...) //nolint:gosec // starting what we are told to is what we are for
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return &pipe{out, in}, cmd.Wait, cmd.Start()
}

// both runs the two directions. When what the client says is at its end, codex is told so,
// and ends; then the other direction ends, too.
func both(fromClient, fromCodex func() error) error {
	failed := make(chan error, 1)
	go func() { failed <- fromClient() }()
	err := fromCodex()
	return errors.Join(err, <-failed)
}
