// Command peers are proxies for Codex's app-server as one would write them with a library, or
// with none. bridge-bench measures them beside codex-bridge.
//
//	peers json|jsonrpc2|jrpc2 PROGRAM ARGS…
//
// Each starts the program and holds a conversation with it on one side, and on its own stdin and
// stdout on the other. They pass on what is said and do nothing else. They are a module of
// their own, so that nobody who builds codex-bridge needs what they are made of.
package main

import (
	"errors"
	"fmt"
	"os"
)

// proxies pass everything from one side to the other until both have come to their end.
var proxies = map[string]func(client, codex *pipe) error{
	"json":     proxyJSON,
	"jsonrpc2": proxyJSONRPC2,
	"jrpc2":    proxyJRPC2,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 || proxies[args[0]] == nil {
		return errors.New("usage: peers json|jsonrpc2|jrpc2 PROGRAM ARGS…")
	}
	codex, wait, err := start(args[1], args[2:])
	if err != nil {
		return err
	}
	err = proxies[args[0]](&pipe{os.Stdin, os.Stdout}, codex)
	return errors.Join(err, wait())
}
