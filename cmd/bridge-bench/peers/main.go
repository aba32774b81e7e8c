// Command peers has proxies for Codex's app-server as a developer would write them with or without
// a library. bridge-bench compares them with codex-bridge.
//
//	peers copy|json|jsonrpc2|jrpc2 PROGRAM ARGS…
//
// Each starts the program and forwards messages between it and its own stdin and stdout. They are a
// separate module, so that builds of codex-bridge do not need their libraries.
package main

import (
	"errors"
	"fmt"
	"os"
)

// proxies forward all messages between both sides until both have ended.
var proxies = map[string]func(client, codex *pipe) error{
	"copy":     eachWay(copyBytes),
	"json":     eachWay(copyJSON),
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
		return errors.New("usage: peers copy|json|jsonrpc2|jrpc2 PROGRAM ARGS…")
	}
	codex, wait, err := start(args[1], args[2:])
	if err != nil {
		return err
	}
	err = proxies[args[0]](&pipe{os.Stdin, os.Stdout}, codex)
	return errors.Join(err, wait())
}
