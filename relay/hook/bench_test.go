package hook_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/relay/hook"
)

// BenchmarkHookProcess starts a hook process as Codex does, alternating with /bin/true, and
// compares the medians. It runs codex-bridge itself, because package initialisation is part
// of the cost.
func BenchmarkHookProcess(b *testing.B) {
	program := b.TempDir() + "/codex-bridge"
	build := exec.Command("go", "build", "-trimpath", "-o", program, "codex-bridge.example/cmd/codex-bridge")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	s := listen(b, hook.Options{Decide: func(context.Context, *hook.Call) hook.Answer { return hook.Answer{} }})
	text := payload(hook.PreToolUse, "c")
	took := func(program string, args ...string) time.Duration {
		cmd := exec.Command(program, args...)
		cmd.Stdin = strings.NewReader(text)
		begin := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			b.Fatalf("%v, %q", err, out)
		}
		return time.Since(begin)
	}
	var ours, nothing []time.Duration
	for b.Loop() {
		nothing = append(nothing, took("/bin/true"))
		ours = append(ours, took(program, "hook", "--socket", s.Socket(), "--event", "pre_tool_use", "--timeout", "10s"))
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return all[len(all)/2].Seconds() * 1000
	}
	b.ReportMetric(median(ours), "ms/hook")
	b.ReportMetric(median(nothing), "ms/true")
	b.ReportMetric(median(ours)/median(nothing), "ratio")
}
