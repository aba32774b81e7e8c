package rpc_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

// turnStart returns the request that an editor sends most, with the user's text.
func turnStart(text string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":11,"method":"turn/start","params":{"threadId":"01a1fb64-bf16-7433-afd1-f74813a2f120",`+
		`"input":[{"type":"text","text":"%s","text_elements":[]},{"type":"localImage","path":"/home/user/project/screenshot.png"}],`+
		`"cwd":"/home/user/project","approvalPolicy":"on-request","approvalsReviewer":"user",`+
		`"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/home/user/project"],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false},`+
		`"model":"gpt-5.5","effort":"medium","summary":"auto","outputSchema":null}}`+"\n", text)
}

func BenchmarkParser(b *testing.B) {
	texts := []struct {
		name string
		line []byte
	}{
		{"turn-start", turnStart("Please look at main.go and fix the failing test in there.")},
		{"turn-start-100KiB", turnStart(strings.Repeat(`Please look at \"main.go\" and fix the failing test in there, it says that the map is nil.\n`, 100<<10/94))},
		{"turn-start-100KiB-umlauts", turnStart(strings.Repeat(`Bitte prüfe, ob die Änderung in main.go nötig ist — größer darf die Datei nicht werden.\n`, 100<<10/94))},
	}
	for _, text := range texts {
		for _, deep := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/deep=%v", text.name, deep), func(b *testing.B) {
				var p rpc.Parser
				b.SetBytes(int64(len(text.line)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Message(text.line, deep); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkPatch(b *testing.B) {
	line := turnStart("Please look at main.go and fix the failing test in there.")
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	var parser rpc.Parser
	for b.Loop() {
		m, err := parser.Message(line, true)
		if err != nil {
			b.Fatal(err)
		}
		p := rpc.NewPatch(m)
		p.Set(m.Params, "approvalPolicy", []byte(`"untrusted"`))
		p.Set(m.Params, "permissions", []byte(`null`))
		if len(p.Bytes()) == 0 {
			b.Fatal("nothing")
		}
	}
}

// Notifications of 250 bytes, as Codex sends them during a turn.
func BenchmarkPump(b *testing.B) {
	delta := func(i int) string {
		return fmt.Sprintf(`{"method":"item/agentMessage/delta","params":{"threadId":"01a1fb64-bf16-7433-afd1-f74813a2f120","turnId":"01a1fb64-bf29-7e02-8995-6f3dd20bb1dd","itemId":"msg_%d","delta":"some more words, to"},"emittedAtMs":1795219046162}`, i)
	}
	streams := map[string]func(i int) string{
		"deltas": delta,
		// Each has another method than the one before.
		"mixed": func(i int) string {
			return strings.Replace(delta(i), "agentMessage/delta", [...]string{"started", "completed", "plan/delta"}[i%3], 1)
		},
		"answers": func(i int) string {
			return strings.Replace(delta(i), `"method":"item/agentMessage/delta","params"`, `"id":8,"result"`, 1)
		},
	}
	const lines = 4000
	for name, line := range streams {
		b.Run(name, func(b *testing.B) {
			var text bytes.Buffer
			for i := range lines {
				l := line(i)
				text.WriteString(l[:len(l)-1] + strings.Repeat(" ", 249-len(l)) + "}\n")
			}
			if text.Len() != 250*lines {
				b.Fatalf("%d bytes", text.Len())
			}
			in := bytes.NewReader(nil)
			p := rpc.NewPump(rpc.NewLineSink(io.Discard), someWanted, someWanted, 64*mib)
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				in.Reset(text.Bytes())
				if err := p.Run(in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(lines*b.N), "ns/line")
		})
	}
}

// selecting handles or reads each turn/completed, as a bridge with a feature does.
type selecting struct {
	mapFilter
	want rpc.Want
	sink rpc.Sink
}

func (s selecting) WantsLine([]byte, []byte) rpc.Want { return s.want }
func (selecting) Read(*rpc.Envelope)                  {}
func (selecting) Written()                            {}

func (s selecting) Handle(line []byte) {
	if _, err := rpc.ParseEnvelope(line); err == nil {
		s.sink.WriteMessage(line)
	}
}

// Each hundredth notification is for a feature. Writes are system calls.
func BenchmarkPumpSelected(b *testing.B) {
	const lines = 4000
	var text bytes.Buffer
	for i := range lines {
		method := "item/agentMessage/delta"
		if i%100 == 99 {
			method = "turn/completed"
		}
		fmt.Fprintf(&text, `{"method":"%s","params":{"threadId":"01a1fb64-bf16-7433-afd1-f74813a2f120","turnId":"01a1fb64-bf29-7e02-8995-6f3dd20bb1dd","itemId":"msg_%d","delta":"some more words, to"},"emittedAtMs":1795219046162}`+"\n", method, i)
	}
	for _, of := range []struct {
		name string
		want rpc.Want
	}{{"forwarded", rpc.Forward}, {"read", rpc.ReadOnly}, {"handled", rpc.ToHandler}} {
		b.Run(of.name, func(b *testing.B) {
			null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer null.Close()
			s := selecting{someWanted, of.want, rpc.NewLineSink(null)}
			p := rpc.NewPump(s.sink, s, s, 64*mib)
			in := bytes.NewReader(nil)
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				in.Reset(text.Bytes())
				if err := p.Run(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
