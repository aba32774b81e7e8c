package config_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
)

func BenchmarkLoadHundredRules(b *testing.B) {
	var text strings.Builder
	text.WriteString("[policy]\napproval = [\"untrusted\"]\n")
	for i := range 100 {
		fmt.Fprintf(&text, "[[policy.rule]]\ntool = \"shell\"\ncommand = \"program%d **\"\ndecision = \"deny\"\nreason = \"no %d\"\n", i, i)
	}
	file := write(b, text.String())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := config.Load(config.Options{User: file}); err != nil {
			b.Fatal(err)
		}
	}
}
