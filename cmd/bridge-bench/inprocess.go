//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// perCall is the processor time of one call of f, in ns. The clock on the wall
// would measure the neighbours, too. f must not fail; what it does was tried.
func perCall(f func()) (float64, error) {
	for n := 1; ; n *= 2 {
		before, err := cpuTime(os.Getpid())
		if err != nil {
			return 0, err
		}
		for range n {
			f()
		}
		after, err := cpuTime(os.Getpid())
		if err != nil {
			return 0, err
		}
		if took := after - before; took > 50*time.Millisecond {
			return float64(took) / float64(n), nil
		}
	}
}

// methods are what a proxy with features looks for, so that the sieve is asked
// as it is in earnest.
type methods map[string]bool

func (m methods) WantsMethod(method []byte, _ bool) bool { return m[string(method)] }
func (m methods) WantsAnswer([]byte) bool                { return false }
func (m methods) WantsAnswers() bool                     { return true }
func (m methods) Take([]byte)                            {}
func (m methods) TakeTooLong([]byte)                     {}

var wanted = methods{"item/tool/call": true, "turn/completed": true, "hook/completed": true,
	"item/commandExecution/requestApproval": true, "thread/settings/updated": true}

// repeat reads a block over and over, in pieces as a pipe of 64 KiB gives them.
type repeat struct {
	block []byte
	at    int
	left  int // bytes
}

func (r *repeat) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 64<<10, r.left)], r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	r.left -= n
	return n, nil
}

// pump measures finding the lines and deciding them.
func (b *bench) pump(int) error {
	block := notifications()
	pump := func(blocks int) func() {
		return func() {
			// Reading from memory does not fail.
			_ = rpc.NewPump(rpc.NewLines(io.Discard), wanted, wanted, 1<<20).Run(&repeat{block: block, left: blocks * len(block)})
		}
	}
	// What a pump allocates for itself falls out of the difference.
	few, many := testing.AllocsPerRun(5, pump(1)), testing.AllocsPerRun(5, pump(51))
	b.add(row{key: "pump/allocs", title: "a message that passes", what: "allocations", goal: 0, atMost: true,
		note: "200,000 messages of mixed methods"}, (many-few)/float64(50*blockSize))
	ns, err := perCall(pump(5))
	if err != nil {
		return err
	}
	b.add(row{key: "pump/time", title: "a message that passes", what: "found and decided in", unit: "ns", free: true,
		note: "250 B, without system calls"}, ns/float64(5*blockSize))
	return nil
}

// workspace is the folder of the thread.
const workspace = "/home/person/project"

// turnStart is what an editor sends most, with the members that codex-acp 2.6.0
// gives it, and a prompt of some lines.
var turnStart = []byte(`{"id":12,"method":"turn/start","params":{"threadId":"` + thread + `","input":[{"type":"text","text":"The test \"reads a long line\" in rpc/pump_test.go fails now and then.\n\n` +
	`Please find out why, and mend it without making the buffer larger:\n\n1. run it a hundred times with -race,\n2. look at what long() leaves in the buffer when the line end is the last byte that was read,\n3. write a test that fails each time.\n\n` +
	`The last run said:\n    pump_test.go:112: got 262144 bytes, want 262145\n    pump_test.go:113: the line behind it is lost\nI think it has to do with scanned, which is not set to 0 in every case. Keep the comments as short as they are, and don't touch the sink.","text_elements":[]}],` +
	`"approvalPolicy":"on-request","approvalsReviewer":"user","sandboxPolicy":{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false},"summary":"auto","effort":"low","model":"gpt-5.4-codex","serviceTier":null}}`)

// parse measures the strict parse of what a client sends, and the decision on it
// for a thread that has been verified.
func (b *bench) parse(int) error {
	cfg := config.Default()
	cfg.Policy.Mode = config.Enforce
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		return err
	}
	state := policy.State{Start: workspace, Home: "/home/person", Temp: "/tmp", Paths: asIs{},
		Thread: &policy.Thread{ID: thread, Workspace: workspace}}
	var parser rpc.Parser
	m, err := parser.Message(turnStart, true)
	if err != nil {
		return err
	}
	if d := p.Decide(m, state); d.Verdict != policy.Pass {
		return fmt.Errorf("the turn/start should pass, and was told %s: %w", d.Verdict, d.Err)
	}
	big := bytes.Replace(turnStart, []byte(`The last run said`), bytes.Repeat([]byte(prose), 64<<10/len(prose)), 1)
	if _, err := parser.Message(big, true); err != nil {
		return err
	}
	for _, one := range []struct {
		key, title string
		free       bool
		line       []byte
		f          func()
	}{
		{"parse/message", "strict parse of a turn/start", false, turnStart, func() {
			_, _ = parser.Message(turnStart, true)
		}},
		{"parse/decide", "strict parse and decision of a turn/start", false, turnStart, func() {
			m, _ := parser.Message(turnStart, true)
			p.Decide(m, state)
		}},
		{"parse/big", "strict parse of 64 KiB of pasted text", true, big, func() {
			_, _ = parser.Message(big, true)
		}},
	} {
		ns, err := perCall(one.f)
		if err != nil {
			return err
		}
		b.add(row{key: one.key, title: one.title, what: "speed", unit: "MB/s", goal: 300, free: one.free,
			note: "%.0f ns for %.0f B"}, float64(len(one.line))*1e3/ns, ns, float64(len(one.line)))
		if !one.free {
			b.add(row{key: one.key + "/allocs", title: one.title, what: "allocations", goal: 3, atMost: true}, testing.AllocsPerRun(1000, one.f))
		}
	}
	return nil
}

// asIs are paths without links: the decision is measured, not the disk.
type asIs struct{}

func (asIs) Canonical(path string) (string, error) { return path, nil }
