//go:build amd64 || arm64

package rpc_test

import (
	"math"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"codex-bridge.example/rpc"
)

// A text of 4 GiB or more is rejected before it is read, so this memory is never touched.
func TestParseValueOfGiBs(t *testing.T) {
	text, err := unix.Mmap(-1, 0, math.MaxUint32+1, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(text) }()
	for n, want := range map[int]string{math.MaxUint32: "expected a value", math.MaxUint32 + 1: "more than 4 GiB"} {
		if _, err := rpc.ParseValue(text[:n]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v; want %q", n, err, want)
		}
	}
}
