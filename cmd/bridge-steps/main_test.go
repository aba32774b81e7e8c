//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"testing"
)

// temp is where programs are built that more than one test needs.
var temp string

func TestMain(m *testing.M) {
	var err error
	if temp, err = os.MkdirTemp("", "bridge-steps-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(temp)
	os.Exit(code)
}
