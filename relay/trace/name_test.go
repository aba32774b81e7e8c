package trace_test

import (
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/relay/trace"
)

// Different ids have different file names.
func TestFileName(t *testing.T) {
	if got := trace.FileName("sess/1"); !strings.HasPrefix(got, "sess_1") || !strings.HasSuffix(got, ".jsonl") {
		t.Errorf("the file of sess/1 is %s", got)
	}
	names := []string{trace.FileName("a/b"), trace.FileName("a_b"), trace.FileName(strings.Repeat("x", 300)), trace.FileName(strings.Repeat("x", 301)), trace.FileName("..")}
	slices.Sort(names)
	if len(slices.Compact(names)) != 5 {
		t.Errorf("two threads have one file: %q", names)
	}
}
