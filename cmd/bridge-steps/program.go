//go:build linux && amd64

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// program is what is counted.
type program struct {
	path  string
	root  string // where it runs
	code  *code
	walks []walk
}

// walk is a path of the program.
type walk struct {
	name  string
	units int
	unit  string
}

// plain is the environment in which the program is built: what a developer has set for the
// compiler would change what is counted.
func plain() []string {
	return append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1", "CGO_ENABLED=0", "GOEXPERIMENT=", "GOFLAGS=")
}

// goAtHand is the version of the Go that this repository is built with.
func goAtHand(root string) (string, error) {
	cmd := exec.Command("go", "env", "GOVERSION")
	cmd.Dir, cmd.Env = root, plain()
	version, err := said(cmd)
	return strings.TrimSpace(version), err
}

// build builds a program with a certain compiler. One that is not at hand is a module like
// any other: the go command has it come and keeps it.
func build(root, dir, version, name string, flags ...string) (*program, error) {
	path := filepath.Join(dir, filepath.Base(name))
	cmd := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-pgo=off", "-o", path}, flags...), name)...)
	cmd.Dir, cmd.Env = root, plain()
	local, err := goAtHand(root)
	if err != nil {
		return nil, err
	}
	if local != version {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+version)
	}
	if _, err := said(cmd); err != nil {
		return nil, fmt.Errorf("the program that is counted can't be built with the Go on record: %w\n"+
			"if it is that %s can't be had, put it within reach, or on a tree that is known to be fast: `make steps RECORD=1` (here is %s)", err, version, local)
	}
	return open(path, root)
}

// open reads what there is in a program that has been built.
func open(path, root string) (*program, error) {
	code, err := readCode(path)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path)
	cmd.Dir, cmd.Env = root, environ
	list, err := said(cmd)
	if err != nil {
		return nil, err
	}
	p := &program{path: path, root: root, code: code}
	for line := range strings.Lines(list) {
		var w walk
		name, rest, _ := strings.Cut(line, "\t")
		if _, err := fmt.Sscan(rest, &w.units, &w.unit); err != nil {
			return nil, fmt.Errorf("%s has said %q: %w", path, line, err)
		}
		w.name = name
		p.walks = append(p.walks, w)
	}
	if len(p.walks) == 0 {
		return nil, errors.New("there is no path to count")
	}
	return p, nil
}

// said is what a command says, or why it failed in its own words.
func said(cmd *exec.Cmd) (string, error) {
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(words.Bytes()))
	}
	return string(out), nil
}
