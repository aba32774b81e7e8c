package main

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

func TestParse(t *testing.T) {
	out := strings.Join([]string{
		`{"Action":"output","Test":"TestCanary/enforced/turn","Output":"codex is 0.165.0; 0.166.0 or later is needed: update it"}`,
		`{"Action":"fail","Test":"TestCanary/enforced/turn"}`,
		`{"Action":"pass","Test":"TestCanary/codex/turn"}`, `{"Action":"pass","Test":"TestCanary/codex/deny_rule"}`,
		`{"Action":"pass","Test":"TestCanary/plain/turn"}`, `{"Action":"fail","Test":"TestCanary/plain/hook_failure"}`, `{"Action":"fail","Test":"TestCanary/plain/fork"}`,
		`{"Action":"fail","Test":"TestCanary"}`, `no JSON`,
	}, "\n")
	const want = "0.165.0 | all 2 | 1 of 3; not: fork, hook failure | refused: 0.166.0 or later is needed"
	if got := parse("0.165.0", []byte(out)).row(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPageJoinsReleasesWithEqualResults(t *testing.T) {
	var results []result
	for _, version := range []string{"0.4.0", "0.3.0", "0.2.0", "0.1.0"} {
		r := result{version: version, passed: map[string]int{"codex": 7, "plain": 7, "enforced": 12}}
		if version < "0.4.0" && version > "0.1.0" {
			r.refused = "0.4.0 or later"
		}
		results = append(results, r)
	}
	const want = head + "0.4.0 | all 7 | all 7 | all 12\n" +
		"0.3.0, 0.2.0 | all 7 | all 7 | refused: 0.4.0 or later is needed\n" +
		"0.1.0 | all 7 | all 7 | all 12\n"
	if got := string(page(results)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
