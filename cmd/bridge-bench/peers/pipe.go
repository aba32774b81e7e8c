package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// pipe has the two ends of a conversation.
type pipe struct {
	io.Reader
	io.WriteCloser
}

// start starts the program. The returned function waits for its exit.
func start(program string, args []string) (p *pipe, wait func() error, err error) {
	cmd := exec.Command(program, args...) //nolint:gosec // the benchmark chooses the program
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

// eachWay returns a proxy that copies in each direction.
func eachWay(copyTo func(to io.Writer, from io.Reader) error) func(client, codex *pipe) error {
	return func(client, codex *pipe) error {
		return both(
			func() error { return errors.Join(copyTo(codex, client), codex.Close()) },
			func() error { return copyTo(client, codex) })
	}
}

// both runs the two directions. At the end of the client's input it closes Codex's input; Codex
// then exits, and the other direction ends.
func both(fromClient, fromCodex func() error) error {
	failed := make(chan error, 1)
	go func() { failed <- fromClient() }()
	err := fromCodex()
	return errors.Join(err, <-failed)
}
