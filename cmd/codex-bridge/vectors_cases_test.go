//go:build unix

package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest/vectors"
)

const (
	caseAttr    = "case"     // the number of a case in its test
	leftOutAttr = "left-out" // the case is not played
	// caseTime is longer than any wait in a case.
	caseTime = 5 * time.Minute
)

// casesSeen is the number of cases that this process has played or passed over.
var casesSeen int

// leftOut names the cases that the bridge has nothing for.
type leftOut[C any] struct {
	row string // the first two cells of the row in DEVIATIONS.md
	is  func(C) bool
}

// eachCase plays each case in a member of a file of vectors. A case is a subtest and starts its own
// conversation. So one that does not decode, fails, takes too long or ends the process is the only
// one that fails; see inOwnProcess. The names of cases are for the output alone.
func eachCase[C any](t *testing.T, file, member string, play func(t *testing.T, c C), left ...leftOut[C]) {
	t.Helper()
	first, _ := strconv.Atoi(os.Getenv(firstCaseEnv)) // "" is 0
	for i, raw := range vectors.Cases(t, file, member) {
		number := casesSeen
		if casesSeen++; number < first {
			continue // another process has played it
		}
		t.Run(member+"/"+caseName(raw, i), func(t *testing.T) {
			t.Attr(caseAttr, strconv.Itoa(number))
			defer time.AfterFunc(caseTime, func() { panic("the case takes too long") }).Stop()
			var c C
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatalf("%v\n%s", err, raw)
			}
			for _, l := range left {
				if l.is(c) {
					if !vectors.HasDeviation(t, l.row) {
						t.Errorf("DEVIATIONS.md has no row | %s |", l.row)
					}
					t.Attr(leftOutAttr, "true")
					return
				}
			}
			play(t, c)
		})
	}
}

// masks reports whether a value of a vector is a text that starts with a word in angle brackets, such
// as "<undefined: not handled>".
func masks(v json.RawMessage, word string) bool {
	var text string
	return json.Unmarshal(v, &text) == nil && strings.HasPrefix(text, "<"+word)
}

// caseName returns the name of a case, or else its place in the list.
func caseName(raw json.RawMessage, i int) string {
	var c struct{ Name string }
	if json.Unmarshal(raw, &c) != nil || strings.TrimSpace(c.Name) == "" {
		return strconv.Itoa(i)
	}
	return c.Name
}
