//go:build linux

package main

import (
	"io"
	"testing"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
	"codex-bridge.example/rpc"
)

// methods are the methods that a proxy with features wants, so that the filter works as in the
// program.
type methods map[string]bool

func (m methods) WantsMethod(method []byte, _ bool) bool { return m[string(method)] }
func (m methods) WantsResponse([]byte) bool              { return false }
func (m methods) MayWantResponse() bool                  { return true }
func (m methods) Handle([]byte)                          {}
func (m methods) HandleTooLong([]byte)                   {}

var wanted = methods{"item/tool/call": true, "turn/completed": true, "hook/completed": true,
	"item/commandExecution/requestApproval": true, "thread/settings/updated": true}

// repeat reads a block repeatedly, in pieces of at most 64 KiB like a pipe.
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

// pump measures finding and filtering lines.
func (b *bench) pump(int) error {
	block := notifications()
	pump := func(blocks int) func() {
		return func() {
			// Reading from memory can't fail.
			_ = rpc.NewPump(rpc.NewLineSink(io.Discard), wanted, wanted, 1<<20).Run(&repeat{block: block, left: blocks * len(block)})
		}
	}
	// The difference excludes the allocations of the pump itself.
	few, many := testing.AllocsPerRun(5, pump(1)), testing.AllocsPerRun(5, pump(51))
	b.table.Add(table.Row{Key: "pump/allocs", Title: "a message that passes", What: "allocations", Goal: table.AtMost(0),
		Note: "200,000 messages of mixed methods"}, (many-few)/float64(50*blockSize))
	ns, err := perCall(pump(5))
	if err != nil {
		return err
	}
	b.table.Add(table.Row{Key: "pump/time", Title: "a message that passes", What: "found and decided in", Unit: "ns",
		Note: "250 B, without system calls"}, ns/float64(5*blockSize))
	return nil
}
