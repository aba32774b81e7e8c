//go:build linux

package e2e_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// most is codex.max_message as it is by default.
const most = 64 * mib

// lengths are those of lines.
func lengths() []int {
	if wide() {
		return []int{mib, 16 * mib, most, most + 1, 1 << 30}
	}
	return []int{mib, 16 * mib, most, most + 1}
}

// A line of the client's arrives as it was, up to the bound and no longer; what is longer is
// answered, and costs no more than one at the bound. What comes behind is carried on.
func TestLongLinesOfTheClient(t *testing.T) {
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			for _, size := range lengths() {
				l := long{fmt.Sprintf(`{"id":%d,"method":"thread/loaded/list","params":{"x":"`, size), `"}}`, size}
				if size > most {
					if _, g := sends(t, l, x.in, x.client); !strings.Contains(g.start, `"code":-32014`) || !strings.Contains(g.start, fmt.Sprintf(`"id":%d`, size)) {
						t.Errorf("%d bytes are answered with %s", size, g.start)
					}
					continue
				}
				if sum, g := sends(t, l, x.in, x.told); g.size != size || g.sum != sum {
					t.Errorf("of %d bytes %d arrive: %.100s", size, g.size, g.start)
				}
			}
			x.clientSays(`{"id":"after","method":"thread/loaded/list","params":{}}`)
			line(t, x.told, `"id":"after"`)
			x.took(clientLine)
			x.keeps(keptAfter)
		})
	}
}

// What lines may take: those of the client's, those of codex's, which pass; and what may be
// kept of them.
const (
	clientLine = 3 * most
	passedLine = 16 * mib
	tracedLine = 64 * mib
	keptAfter  = 48 * mib
)

// A line of codex's that nobody wants arrives as it was, of whatever length, and costs
// nothing.
func TestLongLinesOfCodex(t *testing.T) {
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			for _, size := range lengths() {
				x.clientSays(fmt.Sprintf(`{"id":%d,"method":"thread/loaded/list","params":{}}`, size))
				line(t, x.told, fmt.Sprintf(`"id":%d`, size))
				for _, start := range []string{
					fmt.Sprintf(`{"id":%d,"result":{"x":"`, size),
					`{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","delta":"`,
				} {
					if sum, g := sends(t, long{start, `"}}`, size}, x.codex, x.client); g.size != size || g.sum != sum {
						t.Errorf("of %d bytes %d arrive: %.100s", size, g.size, g.start)
					}
				}
			}
			bound := int64(passedLine)
			if name == "trace" {
				bound = tracedLine
			}
			x.took(bound)
			x.keeps(keptAfter)
		})
	}
}

// A line that has no end costs no more than one at the bound, however much of it comes; it is
// answered when the client's input ends, for then it has one. Codex's comes as it is said.
func TestEndlessLines(t *testing.T) {
	size := 160 * mib
	if wide() {
		size = 2 << 30
	}
	for name, config := range wireConfigs {
		t.Run(name, func(t *testing.T) {
			x := newWire(t, config)
			l := long{`{"id":1,"method":"thread/loaded/list","params":{"x":"`, "", size}
			if _, err := l.writeTo(unended{x.in}); err != nil {
				t.Fatal(err)
			}
			x.codexSays(`{"method":"meanwhile"}`) // the other direction is not held up
			line(t, x.client, "meanwhile")
			x.took(clientLine)
			x.in.Close()
			line(t, x.client, `"code":-32014`)
		})
	}
	t.Run("codex", func(t *testing.T) {
		x := newWire(t, policyConfig)
		l := long{`{"method":"item/agentMessage/delta","params":{"threadId":"t","delta":"`, "", size}
		sum, g := sends(t, l, x.codex, x.client)
		if g.size != size || g.sum != sum {
			t.Errorf("of %d bytes %d arrive", size, g.size)
		}
		x.took(passedLine)
	})
}

// unended leaves out line ends.
type unended struct{ io.Writer }

func (u unended) Write(p []byte) (int, error) {
	n, err := u.Writer.Write([]byte(strings.TrimSuffix(string(p), "\n")))
	return n + (len(p) - n), err
}
