//go:build linux

package e2e_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// maxLine is the default of codex.max_message.
const maxLine = 64 * mib

// lengths returns the tested lengths of lines.
func lengths() []int {
	if wide() {
		return []int{mib, 16 * mib, maxLine, maxLine + 1, 1 << 30}
	}
	return []int{mib, 16 * mib, maxLine, maxLine + 1}
}

// A client's line passes unchanged up to the limit. A longer one gets an error and uses no more
// memory than one at the limit; later lines pass.
func TestLongLinesOfTheClient(t *testing.T) {
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			for _, size := range lengths() {
				l := long{fmt.Sprintf(`{"id":%d,"method":"thread/loaded/list","params":{"cursor":"`, size), `"}}`, size}
				if size > maxLine {
					if _, g := sends(t, l, x.in, x.client); !strings.Contains(g.start, `"code":-32014`) || !strings.Contains(g.start, fmt.Sprintf(`"id":%d`, size)) {
						t.Errorf("response to %d bytes: %s", size, g.start)
					}
					continue
				}
				if sum, g := sends(t, l, x.in, x.codexInput); g.size != size || g.sum != sum {
					t.Errorf("%d bytes, %d arrived: %.100s", size, g.size, g.start)
				}
			}
			x.clientSays(`{"id":"after","method":"thread/loaded/list","params":{}}`)
			line(t, x.codexInput, `"id":"after"`)
			x.checkPeak(clientLine)
			x.checkKept(keptAfter)
		})
	}
}

// Memory limits: for lines of the client, for forwarded lines of Codex, and for stored ones.
const (
	clientLine = 3 * maxLine
	passedLine = 16 * mib
	tracedLine = 64 * mib
	keptAfter  = 48 * mib
)

// An unwanted line of Codex passes unchanged at any length without additional memory.
func TestLongLinesOfCodex(t *testing.T) {
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			for _, size := range lengths() {
				x.clientSays(fmt.Sprintf(`{"id":%d,"method":"thread/loaded/list","params":{}}`, size))
				line(t, x.codexInput, fmt.Sprintf(`"id":%d`, size))
				for _, start := range []string{
					fmt.Sprintf(`{"id":%d,"result":{"x":"`, size),
					`{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","delta":"`,
				} {
					if sum, g := sends(t, long{start, `"}}`, size}, x.codex, x.client); g.size != size || g.sum != sum {
						t.Errorf("%d bytes, %d arrived: %.100s", size, g.size, g.start)
					}
				}
			}
			bound := int64(passedLine)
			if name == "trace" {
				bound = tracedLine
			}
			x.checkPeak(bound)
			x.checkKept(keptAfter)
		})
	}
}

// A line without end uses no more memory than one at the limit. The client's gets its error at the
// end of the input, which ends it. Codex's passes at once.
func TestEndlessLines(t *testing.T) {
	size := 160 * mib
	if wide() {
		size = 2 << 30
	}
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			l := long{`{"id":1,"method":"thread/loaded/list","params":{"cursor":"`, "", size}
			if _, err := l.writeTo(dropLineEnds{x.in}); err != nil {
				t.Fatal(err)
			}
			x.codexSays(`{"method":"meanwhile"}`) // the other direction is not blocked
			line(t, x.client, "meanwhile")
			x.checkPeak(clientLine)
			x.in.Close()
			line(t, x.client, `"code":-32014`)
		})
	}
	t.Run("codex", func(t *testing.T) {
		x := newWire(t, policyConfig)
		l := long{`{"method":"item/agentMessage/delta","params":{"threadId":"t","delta":"`, "", size}
		sum, g := sends(t, l, x.codex, x.client)
		if g.size != size || g.sum != sum {
			t.Errorf("%d bytes, %d arrived", size, g.size)
		}
		x.checkPeak(passedLine)
	})
}

// dropLineEnds drops line ends.
type dropLineEnds struct{ io.Writer }

func (u dropLineEnds) Write(p []byte) (int, error) {
	n, err := u.Writer.Write([]byte(strings.TrimSuffix(string(p), "\n")))
	return n + (len(p) - n), err
}
