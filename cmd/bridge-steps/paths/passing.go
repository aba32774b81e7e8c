package main

import (
	"bytes"
	"errors"
	"io"

	"codex-bridge/rpc"
)

// features are what a proxy with features looks for, so that the sieve is asked as it is in
// earnest.
type features map[string]bool

func (f features) WantsMethod(method []byte, _ bool) bool { return f[string(method)] }
func (f features) WantsAnswer([]byte) bool                { return false }
func (f features) WantsAnswers() bool                     { return true }
func (f features) Take([]byte)                            {}
func (f features) TakeTooLong([]byte)                     {}

var wanted = features{"item/tool/call": true, "turn/completed": true, "hook/completed": true,
	"item/commandExecution/requestApproval": true, "thread/settings/updated": true}

// pieces reads a text as a pipe gives it, 64 KiB at most at once.
type pieces struct {
	text []byte
	at   int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.at == len(p.text) {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 64<<10)], p.text[p.at:])
	p.at += n
	return n, nil
}

// passing is what passes from Codex to the client.
func passing() ([]path, error) {
	text, err := capture("codex-acp-2.6.0-plain_shell-out.jsonl")
	if err != nil {
		return nil, err
	}
	var notes, deltas []byte
	for line := range bytes.Lines(text) {
		switch {
		case bytes.HasPrefix(line, []byte(`{"method":"item/agentMessage/delta"`)):
			deltas = append(deltas, line...)
			fallthrough
		case bytes.HasPrefix(line, []byte(`{"method":`)):
			notes = append(notes, line...)
		}
	}
	if len(deltas) == 0 {
		return nil, errors.New("the capture has no notification")
	}
	long := append(bytes.Repeat([]byte("x"), 4<<20-1), '\n')
	copy(long, `{"method":"item/commandExecution/outputDelta","params":{"delta":"`)
	return []path{
		pumped("pass deltas", "message", deltas),
		pumped("pass a turn's notifications", "message", notes),
		pumped("pass a line of 4 MiB", "line", long),
	}, nil
}

func pumped(name, unit string, text []byte) path {
	in := &pieces{text: text}
	pump := rpc.NewPump(rpc.NewLines(io.Discard), wanted, wanted, 64<<20)
	return path{name, bytes.Count(text, []byte("\n")), unit, func() {
		in.at = 0
		_ = pump.Run(in) // from memory
	}}
}
