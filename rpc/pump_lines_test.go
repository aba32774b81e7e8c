package rpc_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/rpc"
)

// choosy is a desk that wants lines by what stands in them.
type choosy struct{ desk }

func (r *choosy) WantsLine(method, line []byte) bool {
	return string(method) == "w" && bytes.Contains(line, []byte("yes"))
}

// Of one method some notifications are wanted and others pass, in their order: one that
// has passed says nothing of the next. Requests are wanted all the same.
func TestPumpLines(t *testing.T) {
	no, yes := `{"method":"w","params":"no"}`, `{"method":"w","params":"yes"}`
	request := `{"id":1,"method":"w","params":"no"}`
	long := `{"method":"w","params":"` + strings.Repeat("x", 2*rpc.PumpBuffer)
	lines := []struct {
		line  string
		taken bool
	}{
		{no, false}, {no, false}, {yes, true}, {no, false}, {`{"method":"m","params":"yes"}`, false}, {yes, true}, {request, true}, {no, false},
		{long + ` yes"}`, true}, {long + ` no"}`, false}, {yes, true}, {`{"params":"no","method":"w"}`, true},
	}
	var in strings.Builder
	var want []string
	for _, l := range lines {
		in.WriteString(l.line + "\n")
		switch last := len(want) - 1; {
		case l.taken:
			want = append(want, "take "+l.line)
		case last >= 0 && strings.HasPrefix(want[last], "> "):
			want[last] += l.line + "\n"
		default:
			want = append(want, "> "+l.line+"\n")
		}
	}
	r := &choosy{desk{methods: []string{"w"}}}
	if err := rpc.NewPump(rpc.NewLines(r), r, r, 4*mib).Run(strings.NewReader(in.String())); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r.joined()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
