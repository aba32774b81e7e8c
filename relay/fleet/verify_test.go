package fleet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/fleet"

	"github.com/google/go-cmp/cmp"
)

const (
	chainA = "0000000000000000000000000000000a"
	chainB = "0000000000000000000000000000000b"
)

// threeChains has chains of 9, 5 and 1 entries.
func threeChains() map[string][]store.Sealed {
	return map[string][]store.Sealed{chainA: chainOf(9), chainB: chainOf(5), strings.Repeat("c", 32): chainOf(1)}
}

func TestVerifyTampered(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func([]store.Sealed) []store.Sealed // of chainA
		seq     int64
		problem decision.Problem
		noted   bool // only a checkpoint shows it
	}{
		{"changed", func(c []store.Sealed) []store.Sealed {
			c[4].Content = bytes.Replace(c[4].Content, []byte("deny"), []byte("pass"), 1)
			return c
		}, 5, decision.Changed, false},
		{"changed with its hash", func(c []store.Sealed) []store.Sealed {
			c[4].Content = bytes.Replace(c[4].Content, []byte("deny"), []byte("pass"), 1)
			c[4].Hash = decision.Sum(c[4].Content)
			return c
		}, 6, decision.OutOfOrder, false},
		{"another hash", func(c []store.Sealed) []store.Sealed { c[4].Hash = decision.Sum(nil); return c }, 5, decision.Changed, false},
		{"deleted", func(c []store.Sealed) []store.Sealed { return slices.Delete(c, 4, 5) }, 5, decision.Missing, false},
		{"deleted first", func(c []store.Sealed) []store.Sealed { return c[1:] }, 1, decision.Missing, false},
		{"reordered", func(c []store.Sealed) []store.Sealed { c[3], c[6] = c[6], c[3]; return c }, 4, decision.Missing, false},
		{"reordered with numbers", func(c []store.Sealed) []store.Sealed {
			c[3], c[6] = c[6], c[3]
			c[3].Seq, c[6].Seq = 4, 7
			return c
		}, 4, decision.OutOfOrder, false},
		{"twice", func(c []store.Sealed) []store.Sealed { return slices.Insert(c, 4, c[3]) }, 4, decision.OutOfOrder, false},
		{"before the first", func(c []store.Sealed) []store.Sealed {
			first := c[0]
			first.Seq = 0
			return slices.Insert(c, 0, first)
		}, 0, decision.OutOfOrder, false},
		{"not JSON", func(c []store.Sealed) []store.Sealed {
			c[8].Content = []byte("x")
			c[8].Hash = decision.Sum(c[8].Content)
			return c
		}, 9, decision.Changed, false},
		{"cut", func(c []store.Sealed) []store.Sealed { return c[:7] }, 9, decision.Missing, true},
		{"emptied", func([]store.Sealed) []store.Sealed { return nil }, 9, decision.Missing, true},
		{"rewritten", func(c []store.Sealed) []store.Sealed {
			c = slices.Clone(c[:6])
			for range 5 {
				c = append(c, seal(c, "forged"))
			}
			return c
		}, 9, decision.Changed, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chains := threeChains()
			noted, err := fleet.NewCheckpoint(sequence(entriesOf(chains)))
			if err != nil {
				t.Fatal(err)
			}
			chains[chainA] = tt.change(chains[chainA])
			for _, checkpoint := range []*fleet.Checkpoint{nil, noted} {
				_, err := fleet.Verify(sequence(entriesOf(chains)), checkpoint)
				if tt.noted && checkpoint == nil {
					if err != nil {
						t.Errorf("without a checkpoint: %v", err)
					}
					continue
				}
				var broken *fleet.ChainError
				if !errors.As(err, &broken) || broken.Chain != chainA || broken.Seq != tt.seq || broken.Problem != tt.problem {
					t.Errorf("Verify returned %v", err)
				}
			}
		})
	}
}

// Verify names each damaged chain, up to a limit.
func TestVerifyNamesAllChains(t *testing.T) {
	chains := make(map[string][]store.Sealed)
	for i := range 30 {
		chains[fmt.Sprintf("%032x", i)] = chainOf(3)[1:]
	}
	_, err := fleet.Verify(sequence(entriesOf(chains)), nil)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 21 || lines[20] != "10 more chains are damaged" ||
		lines[1] != "chain 00000000000000000000000000000001: decision 1 is missing: the next decision after 0 is 2" {
		t.Errorf("%s", err)
	}
}

// Verify accepts exactly chains that continue those of the checkpoint, in any interleaving.
func TestVerifyAcceptsOnlyGrowth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chains := make(map[string][]store.Sealed)
		for i := range rapid.IntRange(1, 4).Draw(t, "chains") {
			chains[fmt.Sprintf("%032x", i)] = chainOf(rapid.IntRange(1, 4).Draw(t, "entries"))
		}
		noted, err := fleet.NewCheckpoint(sequence(entriesOf(chains)))
		if err != nil {
			t.Fatal(err)
		}
		original := entriesOf(chains)
		for _, chain := range slices.Sorted(maps.Keys(chains)) {
			for range rapid.IntRange(0, 2).Draw(t, "growth") {
				chains[chain] = append(chains[chain], seal(chains[chain], chain))
			}
		}
		entries := entriesOf(chains)
		grown := slices.Clone(entries)
		if rapid.Bool().Draw(t, "tampered") {
			a, b := rapid.IntRange(0, len(entries)-1).Draw(t, "a"), rapid.IntRange(0, len(entries)-1).Draw(t, "b")
			switch rapid.SampledFrom([]string{"swap", "delete", "copy", "chain", "content", "hash"}).Draw(t, "kind") {
			case "swap":
				entries[a], entries[b] = entries[b], entries[a]
			case "delete":
				entries = slices.Delete(entries, a, a+1)
			case "copy":
				entries = slices.Insert(entries, a, entries[b])
			case "chain":
				entries[a].Chain = entries[b].Chain
			case "content":
				entries[a].Content = entries[b].Content
			case "hash":
				entries[a].Hash = entries[b].Hash
			}
		}
		_, err = fleet.Verify(sequence(entries), noted)
		if want := grows(original, entries, grown); (err == nil) != want {
			t.Fatalf("Verify returned %v, want accepted: %t", err, want)
		}
	})
}

// grows reports whether each chain of entries is a prefix of that of grown, and has that of original.
func grows(original, entries, grown []fleet.Entry) bool {
	split := func(all []fleet.Entry) map[string]string {
		texts := make(map[string]string)
		for _, e := range all {
			texts[e.Chain] += fmt.Sprintf("%d %s %s\n", e.Seq, e.Hash, e.Content)
		}
		return texts
	}
	was, are, may := split(original), split(entries), split(grown)
	for chain, text := range are {
		if !strings.HasPrefix(may[chain], text) || !strings.HasPrefix(text, was[chain]) {
			return false
		}
	}
	return len(are) == len(may)
}

// The root is the tree hash of RFC 6962, computed here by its recursive definition.
func TestCheckpointRoot(t *testing.T) {
	var tree func(leaves []string) tlog.Hash
	tree = func(leaves []string) tlog.Hash {
		if len(leaves) == 1 {
			return tlog.RecordHash([]byte(leaves[0]))
		}
		k := 1
		for k*2 < len(leaves) {
			k *= 2
		}
		return tlog.NodeHash(tree(leaves[:k]), tree(leaves[k:]))
	}
	chains := make(map[string][]store.Sealed)
	for n := range 20 {
		chains[fmt.Sprintf("%032x", n*7%20)] = chainOf(n + 1)
		c, err := fleet.NewCheckpoint(sequence(entriesOf(chains)))
		if err != nil {
			t.Fatal(err)
		}
		var leaves []string
		for _, h := range c.Heads {
			leaves = append(leaves, h.String())
		}
		if root := tree(leaves); c.Root != fmt.Sprintf("%x", root[:]) || c.Chains != n+1 || c.Decisions != int64((n+1)*(n+2)/2) {
			t.Errorf("%d chains: %+v, want the root %x", n+1, c, root)
		}
	}
	none, err := fleet.NewCheckpoint(sequence(nil))
	if err != nil || none.Root != decision.Sum(nil) {
		t.Errorf("without chains: %+v, %v", none, err)
	}
}

// A changed checkpoint is no checkpoint.
func TestParseCheckpoint(t *testing.T) {
	c, err := fleet.NewCheckpoint(sequence(entriesOf(threeChains())))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := fleet.ParseCheckpoint(text)
	if diff := cmp.Diff(c, got); diff != "" || err != nil {
		t.Fatal(err, diff)
	}
	for name, change := range map[string]func(*fleet.Checkpoint){
		"number":     func(c *fleet.Checkpoint) { c.Heads[0].Seq-- },
		"hash":       func(c *fleet.Checkpoint) { c.Heads[0].Hash = decision.Sum(nil) },
		"chain":      func(c *fleet.Checkpoint) { c.Heads[0].Chain = strings.Repeat("0", 32) },
		"left out":   func(c *fleet.Checkpoint) { c.Heads = c.Heads[1:] },
		"order":      func(c *fleet.Checkpoint) { c.Heads[0], c.Heads[1] = c.Heads[1], c.Heads[0] },
		"twice":      func(c *fleet.Checkpoint) { c.Heads[1] = c.Heads[0] },
		"chains":     func(c *fleet.Checkpoint) { c.Chains++ },
		"decisions":  func(c *fleet.Checkpoint) { c.Decisions++ },
		"root":       func(c *fleet.Checkpoint) { c.Root = decision.Sum(nil) },
		"capitals":   func(c *fleet.Checkpoint) { c.Heads[0].Hash = strings.ToUpper(c.Heads[0].Hash) },
		"not a head": func(c *fleet.Checkpoint) { c.Heads[0].Seq = 0 },
	} {
		var other fleet.Checkpoint
		if err := json.Unmarshal(text, &other); err != nil {
			t.Fatal(err)
		}
		change(&other)
		changed, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fleet.ParseCheckpoint(changed); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := fleet.ParseCheckpoint([]byte("x")); err == nil {
		t.Error("a text is a checkpoint")
	}
}

// An export of a real log has the lines of the local export, and verifies in any JSON spelling.
func TestExportRoundTrip(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{Folder: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, reason := range []string{"plain", `"hash":"` + decision.Sum(nil) + `",`, `"chain":"` + chainB + `",`, "<b>\u2028\u202e\x1b\\ \x7f é 😀"} {
		if err := s.Append(t.Context(), decision.Record{Method: "turn/start", Reason: reason, Fields: []string{`"hash":"`, "b"}, Facts: `{"user":"ada","chain":"` + strings.Repeat("0", 32) + `","hash":"` + decision.Sum(nil) + `","x":1}`}); err != nil {
			t.Fatal(err)
		}
	}
	sealed, err := s.SealedAfter(t.Context(), decision.NoHead, 100, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	want := entriesOf(map[string][]store.Sealed{chainA: sealed})
	var text, respelt bytes.Buffer
	for _, e := range want {
		text.Write(append(e.Line(), '\n'))
		var members map[string]any
		if err := json.Unmarshal(e.Line(), &members); err != nil {
			t.Fatal(err)
		}
		if members["chain"] != chainA || members["hash"] != e.Hash || members["seq"] != float64(e.Seq) {
			t.Errorf("%s", e.Line())
		}
		if err := json.NewEncoder(&respelt).Encode(members); err != nil { // other order and escapes
			t.Fatal(err)
		}
	}
	for _, export := range []*bytes.Buffer{&text, &respelt} {
		var got []fleet.Entry
		for e, err := range fleet.ReadEntries(export, "export.jsonl") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if c, err := fleet.Verify(sequence(got), nil); err != nil || c.Decisions != 4 {
			t.Error(c, err)
		}
	}
}

func TestReadEntriesRefusesOtherLines(t *testing.T) {
	good := string(fleet.Entry{Chain: chainA, Sealed: chainOf(1)[0]}.Line()) + "\n"
	for _, line := range []string{"x", "{}", `{"seq":1}`, strings.Replace(good, chainA, "a", 1), strings.Replace(good, `"hash"`, `"hush"`, 1), strings.Replace(good, `"seq":1`, `"seq":"1"`, 1), strings.Replace(good, `"seq":1`, `"seq":1,"seq":2`, 1)} {
		var last error
		n := 0
		for _, err := range fleet.ReadEntries(strings.NewReader(good+line), "f") {
			n++
			last = err
		}
		if n != 2 || last == nil || !strings.HasPrefix(last.Error(), "f:2: it is not a line of") {
			t.Errorf("%.80s: %d lines, %v", line, n, last)
		}
	}
}
