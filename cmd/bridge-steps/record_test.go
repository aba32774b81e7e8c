//go:build linux && amd64

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	before := record{Go: "go1.26.8", Steps: map[string]int64{"pass": 1000, "parse": 20000}}
	for _, c := range []struct {
		name  string
		pass  int64
		parse int64
		want  string // "": as on record
	}{
		{"the same", 1000, 20000, ""},
		{"a little more", 1050, 20999, ""},
		{"a little less", 950, 19001, ""},
		{"more", 1051, 20000, `"pass" takes 1051 steps, +5.1 % of the 1000 on record`},
		{"more of the other", 1000, 40000, `"parse" takes 40000 steps, +100.0 % of the 20000 on record`},
		{"less", 949, 20000, `"pass" takes 949 steps, -5.1 % of the 1000 on record: keep it so`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := before.compare(record{Steps: map[string]int64{"pass": c.pass, "parse": c.parse}})
			if got, _, _ := strings.Cut(text(err), "\n"); got != c.want {
				t.Errorf("%s", cmp.Diff(c.want, got))
			}
			if err != nil && !strings.Contains(err.Error(), "make steps RECORD=1") {
				t.Errorf("it does not say what to do: %v", err)
			}
		})
	}
	err := before.compare(record{Steps: map[string]int64{"pass": 1000, "decide": 1}})
	for _, want := range []string{`"decide" is not on record`, `"parse" is on record, and there is no such path`} {
		if !strings.Contains(text(err), want) {
			t.Errorf("%v does not say that %s", err, want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestRecordIsReadAsWritten(t *testing.T) {
	want := record{Go: "go1.26.8", Steps: map[string]int64{"pass": 1000}}
	file := t.TempDir() + "/amd64.json"
	if err := want.write(file); err != nil {
		t.Fatal(err)
	}
	got, err := readRecord(file)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}
