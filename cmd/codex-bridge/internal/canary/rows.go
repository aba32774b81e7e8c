package canary

import (
	"fmt"
	"os"
	"path/filepath"

	"codex-bridge.example/cmd/internal/editor"
)

var (
	onRequest = object{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	untrusted = object{"approvalPolicy": "untrusted", "sandbox": "workspace-write"}
)

// Rows has the conversations.
var Rows = []Row{
	{"turn", "a turn runs a command in its sandbox", false, func(t *talk) error {
		return t.afterTurn(onRequest, "RUN: touch made", -1, "made", true)
	}},
	{"approval", "a command asks first", false, func(t *talk) error {
		return t.afterTurn(untrusted, "RUN: touch made", 1, "made", true)
	}},
	{"patch", "a patch writes a file", false, func(t *talk) error {
		return t.afterTurn(onRequest, "PATCH: made\none", -1, "made", true)
	}},
	{"escalation", "a command asks before it leaves the sandbox", false, func(t *talk) error {
		return t.afterTurn(onRequest, "ESCALATE: touch ../outside", 1, "../outside", true)
	}},
	{"sandbox", "no other command leaves it", false, func(t *talk) error {
		return t.afterTurn(onRequest, "RUN: touch ../outside", -1, "../outside", false)
	}},
	{"deny rule", "a rule denies a command", true, func(t *talk) error {
		return t.afterTurn(onRequest, "RUN: touch forbidden", -1, "forbidden", false)
	}},
	{"hook failure", "no command runs if the bridge's hook fails", true, playHookFailure},
	{"full access", "a thread gets no full access", true, func(t *talk) error {
		return t.afterTurn(object{"approvalPolicy": "never", "sandbox": "danger-full-access"}, "RUN: touch ../outside", -1, "../outside", false)
	}},
	{"resume", "another process resumes a thread", false, playResume},
	{"fork", "a thread is forked", false, playFork},
	{"working folder", "a rule about a program holds in one folder only", true, playWorkingFolder},
	{"tools", "the model calls a tool of the host", true, func(t *talk) error {
		return t.afterTurn(onRequest, "CALL: weather {}", -1, "asked", true)
	}},
}

// afterTurn runs a turn in a new thread, and compares the number of its questions, unless it is negative, and a file.
func (t *talk) afterTurn(settings object, text string, questions int, file string, exists bool) error {
	asked, err := t.newTurn(settings, text)
	if err != nil {
		return err
	}
	if questions >= 0 && len(asked) != questions {
		return fmt.Errorf("%d questions, %q; expected %d", len(asked), asked, questions)
	}
	return t.expect(file, exists)
}

func playHookFailure(t *talk) error {
	thread, err := t.thread(onRequest)
	if err != nil {
		return err
	}
	sockets, err := filepath.Glob(filepath.Join(t.State, "run/*/hook.sock"))
	if err != nil {
		return err
	}
	if len(sockets) != 1 {
		return fmt.Errorf("the bridge has %d sockets for hooks, %q", len(sockets), sockets)
	}
	if err := os.Remove(sockets[0]); err != nil {
		return err
	}
	if _, err := t.turn(thread, "RUN: touch made"); err != nil {
		return err
	}
	return t.expect("made", false)
}

func playResume(t *talk) error {
	thread, err := t.thread(onRequest)
	if err != nil {
		return err
	}
	if _, err := t.turn(thread, "SAY: hi"); err != nil {
		return err
	}
	if err := t.close(); err != nil {
		return err
	}
	if err := t.open(); err != nil {
		return err
	}
	if _, err := t.call("thread/resume", object{"threadId": thread}); err != nil {
		return err
	}
	if _, err := t.turn(thread, "RUN: touch made"); err != nil {
		return err
	}
	return t.expect("made", true)
}

func playFork(t *talk) error {
	thread, err := t.thread(onRequest)
	if err != nil {
		return err
	}
	if _, err := t.turn(thread, "SAY: hi"); err != nil {
		return err
	}
	fork, err := t.call("thread/fork", object{"threadId": thread})
	if err != nil {
		return err
	}
	if _, err := t.turn(editor.Member(fork, "thread", "id"), "RUN: touch made"); err != nil {
		return err
	}
	return t.expect("made", true)
}

func playWorkingFolder(t *talk) error {
	folder := filepath.Join(t.Workspace, "deeper")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "allowed.sh"), []byte("#!/bin/sh\ntouch made\n"), 0o600); err != nil {
		return err
	}
	asked, err := t.newTurn(untrusted, `CALL: exec_command {"cmd":"./allowed.sh","workdir":"deeper"}`)
	if err == nil && len(asked) != 1 {
		err = fmt.Errorf("%d questions, %q; the rule is about the program of another folder", len(asked), asked)
	}
	return err
}
