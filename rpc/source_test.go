package rpc_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

// readAll returns all results of a Source: messages, errors as "code id", and the last error
// unless that is io.EOF.
func readAll(t *testing.T, s rpc.Source) []string {
	t.Helper()
	var all []string
	for {
		line, err := s.Next()
		var refused *rpc.MessageError
		switch {
		case errors.As(err, &refused):
			all = append(all, fmt.Sprintf("%d %s", refused.Err.Code, refused.ID.Raw()))
		case errors.Is(err, io.EOF):
			if _, err := s.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("behind the end: %v", err)
			}
			return all
		case err != nil:
			return append(all, "error: "+err.Error())
		default:
			all = append(all, string(line))
		}
	}
}

// sources returns the results of a Source for the text. Reads of one byte must give the same.
func sources(t *testing.T, text string, max int) []string {
	t.Helper()
	s, _ := rpc.DetectFraming(strings.NewReader(text), io.Discard, max)
	whole := readAll(t, s)
	s, _ = rpc.DetectFraming(iotest.OneByteReader(strings.NewReader(text)), io.Discard, max)
	if diff := cmp.Diff(whole, readAll(t, s)); diff != "" {
		t.Errorf("byte by byte it is (-whole +bytes):\n%s", diff)
	}
	return whole
}

func TestJSONLines(t *testing.T) {
	const max = 200
	long := func(n int) string { // a request of n bytes with its line end
		start, end := `{"id":7,"method":"m","params":{"a":"`, `"}}`+"\n"
		return start + strings.Repeat("x", n-len(start)-len(end)) + end
	}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"lines", "{\"a\":1}\n{\"b\":2}\n", []string{"{\"a\":1}\n", "{\"b\":2}\n"}},
		{"CRLF", "{\"a\":1}\r\n{\"b\":2}\r\n", []string{"{\"a\":1}\r\n", "{\"b\":2}\r\n"}},
		{"blank lines", "{\"a\":1}\n\n \t\n\r\n{\"b\":2}\n\n", []string{"{\"a\":1}\n", "{\"b\":2}\n"}},
		{"only blank lines", "\n\r\n  \n", nil},
		{"blanks at the end", "{\"a\":1}\n  ", []string{"{\"a\":1}\n"}},
		// Codex ignores such a line, so the Source must not add a line end.
		{"no line end", "{\"a\":1}\n{\"b\":2}", []string{"{\"a\":1}\n", "{\"b\":2}"}},
		{"white space stays", "  {\"a\" : 1}\t\n", []string{"  {\"a\" : 1}\t\n"}},
		{"not JSON", "hello\n{\"a\":1}\n", []string{"hello\n", "{\"a\":1}\n"}},
		{"as long as may be", long(max) + "{}\n", []string{long(max), "{}\n"}},
		{"too long", long(max+1) + "{}\n", []string{"-32014 7", "{}\n"}},
		{"too long twice", long(max+1) + long(5*max) + "{}\n", []string{"-32014 7", "-32014 7", "{}\n"}},
		{"too long without line end", strings.TrimSpace(long(2 * max)), []string{"-32014 7"}},
		{"too long notification", `{"method":"m","params":"` + strings.Repeat("x", max) + "\"}\n{}\n", []string{"-32014 null", "{}\n"}},
		{"too long answer", `{"id":7,"result":"` + strings.Repeat("x", max) + "\"}\n{}\n", []string{"-32014 null", "{}\n"}},
		{"too long id", `{"id":` + strings.Repeat("7", max) + ",\"method\":\"m\"}\n{}\n", []string{"-32014 null", "{}\n"}},
		{"too long and no JSON", strings.Repeat("x", max+1) + "\n{}\n", []string{"-32014 null", "{}\n"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, sources(t, test.text, max)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Lengths around the size of the read buffer, 64 KiB, and far beyond it.
func TestLongJSONLines(t *testing.T) {
	const buffer, max = 64 << 10, 4 << 20
	call := func(n int) string { return `{"id":7,"method":"m","params":"` + strings.Repeat("x", n-34) + "\"}\n" }
	var text strings.Builder
	var want []string
	for _, n := range []int{buffer - 1, buffer, buffer + 1, 2 * buffer, 2*buffer + 1, 1 << 20, 1<<20 + 1, max - 1, max, 100} {
		text.WriteString(call(n))
		text.WriteString("{}\n") // a short one after each
		want = append(want, call(n), "{}\n")
	}
	for _, n := range []int{max + 1, 2 * max, 3*max + 7} {
		text.WriteString(call(n))
		text.WriteString("{}\n")
		want = append(want, "-32014 7", "{}\n")
	}
	s, _ := rpc.DetectFraming(strings.NewReader(text.String()), io.Discard, max)
	got := readAll(t, s)
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("line %d is %.60q (%d bytes), want %.60q (%d bytes)", i, got[i], len(got[i]), want[i], len(want[i]))
		}
	}
}

// Only the first bytes of a too long message are kept. If they end within an id, its start
// must not be used: it may be the id of another request.
func TestTooLongIDIsNotTruncated(t *testing.T) {
	const kept, max = 64 << 10, 100 << 10
	for at := kept - 12; at < kept+2; at++ {
		start := `{"method":"m","params":"`
		line := start + strings.Repeat("x", at-len(start)-7) + `","id":` + `123456` + `,"x":"` + strings.Repeat("y", max) + "\"}\n"
		s, _ := rpc.DetectFraming(strings.NewReader(line), io.Discard, max)
		_, err := s.Next()
		var refused *rpc.MessageError
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		if id := string(refused.ID.Raw()); id != "null" && id != "123456" {
			t.Errorf("with the id at byte %d the reply has the id %s", at, id)
		}
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("broken")
	for name, start := range map[string]string{"lines": "{}\n", "header": "Content-Length: 2\r\n\r\n{}", "body": "Content-Length: 2\r\n\r\n{}Content-Length: 5\r\n\r\n{"} {
		s, _ := rpc.DetectFraming(io.MultiReader(strings.NewReader(start), iotest.ErrReader(broken)), io.Discard, 100)
		if line, err := s.Next(); string(line) != "{}\n" || err != nil {
			t.Errorf("%s: %q, %v", name, line, err)
		}
		if _, err := s.Next(); !errors.Is(err, broken) {
			t.Errorf("%s: the reader's error has become %v", name, err)
		}
	}
}
