package rpc_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

// endlessReader returns n bytes of repeated text.
type endlessReader struct {
	text string
	n    int
	at   int
}

func (e *endlessReader) Read(b []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), e.n)], e.text[e.at%len(e.text):])
	e.at += n
	e.n -= n
	return n, nil
}

// allocated returns the bytes that f allocates, including those that are freed.
func allocated(f func()) uint64 {
	before, after := memStats(f)
	return after.TotalAlloc - before.TotalAlloc
}

// memStats returns the memory statistics before and after f.
func memStats(f func()) (before, after runtime.MemStats) {
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return before, after
}

func TestMemory(t *testing.T) {
	const huge = 16 * mib
	xs := strings.Repeat("x", 4096)
	call := `{"id":7,"method":"m","params":{"a":"`
	next := func(t *testing.T, s rpc.Source, want string) {
		t.Helper()
		if line, err := s.Next(); fmt.Sprintf("%s %v", line, err) != want {
			t.Errorf("%.100s, %v; want %s", line, err, want)
		}
	}
	tooLarge := func(max int) string {
		return fmt.Sprintf(" the message is longer than %d bytes; send less at once, or raise codex.max_message", max)
	}
	// 120 nested objects: a million keys in objects that are all still open.
	manyKeys := []byte(`{"method":"m","params":` + strings.Repeat(strings.TrimSuffix(object(8000), "}")+`,"a":`, 120) + `0` + strings.Repeat("}", 120) + `}`)
	tests := []struct {
		name string
		most uint64
		f    func(t *testing.T)
	}{
		{"a line over the bound is not kept", 8 * mib, func(t *testing.T) {
			in := io.MultiReader(strings.NewReader(call), &endlessReader{text: xs, n: huge}, strings.NewReader("\n{}\n"))
			s, _ := rpc.DetectFraming(in, io.Discard, mib)
			next(t, s, tooLarge(mib))
			next(t, s, "{}\n <nil>")
		}},
		{"a line comes to three times its length", 3 * huge, func(t *testing.T) {
			in := io.MultiReader(strings.NewReader(call), &endlessReader{text: xs, n: huge}, strings.NewReader("\"}}\n"))
			s, _ := rpc.DetectFraming(in, io.Discard, huge+mib)
			if line, err := s.Next(); err != nil || len(line) < huge {
				t.Errorf("%d bytes, %v", len(line), err)
			}
		}},
		{"a line as long as may be comes to less, too", 3 * mib, func(t *testing.T) {
			in := io.MultiReader(&endlessReader{text: xs, n: mib - 1}, strings.NewReader("\n"))
			s, _ := rpc.DetectFraming(in, io.Discard, mib)
			if line, err := s.Next(); err != nil || len(line) != mib {
				t.Errorf("%d bytes, %v", len(line), err)
			}
		}},
		{"a body over the bound is not kept", mib, func(t *testing.T) {
			in := io.MultiReader(strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(call)+huge, call)), &endlessReader{text: xs, n: huge}, strings.NewReader(framed("{}")))
			s, _ := rpc.DetectFraming(in, io.Discard, mib)
			next(t, s, tooLarge(mib))
			next(t, s, "{}\n <nil>")
		}},
		{"a length that is only claimed costs nothing", mib, func(t *testing.T) {
			s, _ := rpc.DetectFraming(strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", huge, call)), io.Discard, huge)
			next(t, s, " EOF")
		}},
		{"empty lines are not kept", mib, func(t *testing.T) {
			s, _ := rpc.DetectFraming(io.MultiReader(&endlessReader{text: strings.Repeat("\r\n", 4096), n: huge}, strings.NewReader(framed("{}"))), io.Discard, mib)
			next(t, s, "{}\n <nil>")
		}},
		{"a long line of codex is not kept", mib, func(t *testing.T) {
			in := io.MultiReader(strings.NewReader(notification("m", 90)[:80]), &endlessReader{text: xs, n: huge}, strings.NewReader("\"}}\n"))
			if err := rpc.NewPump(rpc.NewLineSink(io.Discard), someWanted, someWanted, huge).Run(in); err != nil {
				t.Error(err)
			}
		}},
		{"a wanted line over the bound is not kept", 5 * mib, func(t *testing.T) {
			in := io.MultiReader(strings.NewReader(`{"method":"turn/completed","params":"`), &endlessReader{text: xs, n: huge}, strings.NewReader("\"}\n"))
			if err := rpc.NewPump(rpc.NewLineSink(io.Discard), someWanted, someWanted, mib).Run(in); err != nil {
				t.Error(err)
			}
		}},
		{"keys that wait for their double", 16 * mib, func(t *testing.T) {
			if _, err := new(rpc.Parser).Message(manyKeys, false); err == nil {
				t.Error("accepted")
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := allocated(func() { test.f(t) }); got > test.most {
				t.Errorf("%d KiB of memory, want at most %d", got>>10, test.most>>10)
			}
		})
	}
}
