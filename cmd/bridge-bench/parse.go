//go:build linux

package main

import (
	"bytes"
	"fmt"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/cmd/bridge-bench/internal/table"
	"codex-bridge.example/rpc"
)

// longTurn is the usual message of an editor, with the members of codex-acp 2.6.0 and a prompt of
// some lines.
var longTurn = []byte(`{"id":12,"method":"turn/start","params":{"threadId":"` + thread + `","input":[{"type":"text","text":"The test \"reads a long line\" in rpc/pump_test.go fails now and then.\n\n` +
	`Please find out why, and mend it without making the buffer larger:\n\n1. run it a hundred times with -race,\n2. look at what long() leaves in the buffer when the line end is the last byte that was read,\n3. write a test that fails each time.\n\n` +
	`The last run said:\n    pump_test.go:112: got 262144 bytes, want 262145\n    pump_test.go:113: the line behind it is lost\nI think it has to do with scanned, which is not set to 0 in every case. Keep the comments as short as they are, and don't touch the sink.","text_elements":[]}],` +
	`"approvalPolicy":"on-request","approvalsReviewer":"user","sandboxPolicy":{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false},"summary":"auto","effort":"low","model":"gpt-5.4-codex","serviceTier":null}}`)

// parse measures the strict parser on a client's message, and the decision about it for a verified
// thread.
func (b *bench) parse(int) error {
	cfg := config.Default()
	cfg.Policy.Mode = config.Enforce
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		return err
	}
	state := policy.State{StartFolder: workspace, Home: "/home/person", Temps: []policy.TempFolder{{Name: "$TMPDIR", Path: "/tmp"}}, Paths: noLinks{},
		Thread: &policy.Thread{ID: thread, Workspace: workspace}}
	var parser rpc.Parser
	m, err := parser.Message(longTurn, true)
	if err != nil {
		return err
	}
	if d := p.Decide(m, state); d.Verdict != policy.Pass {
		return fmt.Errorf("turn/start got %s, want pass: %w", d.Verdict, d.Err)
	}
	big := bytes.Replace(longTurn, []byte(`The last run said`), bytes.Repeat([]byte(prose), 64<<10/len(prose)), 1)
	if _, err := parser.Message(big, true); err != nil {
		return err
	}
	for _, one := range []struct {
		key, title string
		goal       table.Goal
		line       []byte
		f          func()
	}{
		{"parse/message", "strict parse of a turn/start", table.AtLeast(300), longTurn, func() {
			_, _ = parser.Message(longTurn, true)
		}},
		{"parse/decide", "strict parse and decision of a turn/start", table.AtLeast(300), longTurn, func() {
			m, _ := parser.Message(longTurn, true)
			p.Decide(m, state)
		}},
		{"parse/big", "strict parse of 64 KiB of pasted text", table.Goal{}, big, func() {
			_, _ = parser.Message(big, true)
		}},
	} {
		ns, err := perCall(one.f)
		if err != nil {
			return err
		}
		b.table.Add(table.Row{Key: one.key, Title: one.title, What: "speed", Unit: "MB/s", Goal: one.goal,
			Note: "%.0f ns for %.0f B"}, float64(len(one.line))*1e3/ns, ns, float64(len(one.line)))
		if one.goal != (table.Goal{}) {
			b.table.Add(table.Row{Key: one.key + "/allocs", Title: one.title, What: "allocations", Goal: table.AtMost(3)}, testing.AllocsPerRun(1000, one.f))
		}
	}
	return nil
}

// noLinks resolves no links: it measures the decision without the disk.
type noLinks struct{}

func (noLinks) Canonical(path string) (string, error) { return path, nil }
func (noLinks) Follow(path string) (string, error)    { return path, nil }
