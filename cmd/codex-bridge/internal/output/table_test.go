package output

import (
	"strings"
	"testing"
)

func TestTableFitsTheOutput(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	var rows Table
	rows.Row("NO", "NAME", "REASON")
	rows.Row("1", "short", strings.Repeat("several words ", 20)+"end")
	rows.Row("2", strings.Repeat("x", 150), "ünïcode")
	rows.Row("3", "", "")
	var b strings.Builder
	if err := rows.Print(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > MaxColumns || strings.HasSuffix(line, " \n") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if words := strings.Fields(b.String()); strings.Count(strings.Join(words, ""), "several") != 20 || strings.Count(strings.Join(words, ""), "x") != 150 {
		t.Errorf("text is lost:\n%s", b.String())
	}
	// Nothing that fits is wrapped.
	b.Reset()
	rows = Table{}
	rows.Row("a", "bb")
	rows.Row("ccc", "d")
	if err := rows.Print(&b); err != nil || b.String() != "a    bb\nccc  d\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// No column of a table breaks a time while a longer word can be broken.
func TestTableKeepsTimesWhole(t *testing.T) {
	thread := "01a22692-a982-7672-89a4-a75902111ac0"
	var rows Table
	rows.Row("2026-03-01T09:30:00Z", thread, thread)
	if text := rows.Text(80); !strings.Contains(text, "2026-03-01T09:30:00Z") {
		t.Errorf("the time is broken:\n%s", text)
	}
}
