package provider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/relay/tools/provider"
)

// The messages are the lines that are objects, whatever the size of the reads.
func FuzzMessages(f *testing.F) {
	f.Add("{}\n[1]\n{\"a\":1}\r\n  {} \n\n{\n{}", uint8(0))
	f.Add(strings.Repeat(" ", 40)+"{}"+strings.Repeat("\t", 40)+"\n"+strings.Repeat("x", 1100)+"\n{}\n", uint8(1))
	f.Add("{\"a\":\""+strings.Repeat("y", 1100)+"\"}\n{}{}\n\xff{}\n", uint8(100))
	f.Fuzz(func(t *testing.T, stdout string, size uint8) {
		var want []string
		for line := range strings.SplitSeq(stdout, "\n") {
			line = strings.Trim(line, " \t\r")
			if strings.HasPrefix(line, "{") && json.Valid([]byte(line)) {
				want = append(want, line)
			}
		}
		if diff := cmp.Diff(want, provider.Messages(strings.NewReader(stdout), int(size))); diff != "" {
			t.Error(diff)
		}
	})
}
