//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scriptLines are beginnings of scripts. Their interpreter is i.
func scriptLines(count int) []string {
	lines := []string{
		"#!i\n", "#!i", "#! i\n", "#!\ti\t\n", "#!i a\n", "#!i a", "#!i  a \tb \t\n", "#!i  a \tb \t", "#!i ", "#!i \x00", "#!i\x00a\n", "#!i a\x00b\n", "#!i a \x00\n", "#!\n", "#! \n", "#!", "#!  ", "#!\x00",
		"#!\x00i\n", "#\n", "#", "", "i", " #!i\n", "#!i\r\n", "#!i \n\n", "#!\ni\n", "#!./i\n", "#!./i/\n", "#!missing\n", "#!.\n", "#!i\x0b\n", "\xef\xbb\xbf#!i\n",
	}
	for _, n := range []int{252, 253, 254, 255, 256, 257} {
		for _, end := range []string{"", "\n", "\x00", " ", " b\n"} {
			lines = append(lines,
				"#!i "+strings.Repeat("a", n-4)+end, "#!"+strings.Repeat(" ", n-3)+"i"+end, "#!i"+strings.Repeat(" ", n-3)+end, "#!i"+strings.Repeat(" ", n-4)+"a"+end,
				"#!"+strings.Repeat("./", (n-3)/2)+"i"+end, "#!"+strings.Repeat("./", (n-4)/2)+"/i"+end, "#!"+strings.Repeat("/", n-3)+end)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for len(lines) < count {
		line := "#!"
		for range random.IntN(8) {
			line += []string{"i", " ", "\t", "\n", "\x00", "a", "./i", " i ", strings.Repeat(" ", 120), strings.Repeat("a", 124)}[random.IntN(10)]
		}
		lines = append(lines, line)
	}
	return lines
}

// The interpreter and the words that are decided are those that the kernel starts.
func TestScriptLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(testProgram(t), filepath.Join(dir, "i")); err != nil {
		t.Fatal(err)
	}
	lines := scriptLines(300)
	line := testProgram(t) + " " + helperWord + " each"
	for n, one := range lines {
		file := fmt.Sprint("s", n)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(one), 0o755); err != nil {
			t.Fatal(err)
		}
		line += " ./" + file
	}
	line += "; :"
	control := exec.Command("bash", "-c", line)
	control.Dir = dir
	out, err := control.Output()
	if err != nil {
		t.Fatal(err)
	}
	controls := strings.Split(string(out), "\n")
	one := inCall(line)
	one.dir, one.allow = dir, true
	r := one.run(t)
	decided := make(map[string]Start)
	for _, start := range r.starts {
		decided[filepath.Base(start.Programs[0].Path)] = start
	}
	results := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	if len(results) != len(lines) {
		t.Fatalf("%d results: %s", len(results), r.out)
	}
	for n, result := range results {
		name, ran, _ := strings.Cut(result, " ")
		start := decided[strings.TrimPrefix(name, "./")]
		words := "fork/exec it: exec format error"
		switch {
		case len(start.Programs) > 1:
			words = fmt.Sprintf("%q", start.Programs[len(start.Programs)-1].Args)
		case len(start.Programs) == 0: // it could not start, as without a supervisor
			words = strings.TrimPrefix(controls[n], name+" ")
		}
		if ran != words || name != fmt.Sprint("./s", n) {
			t.Errorf("%q: the kernel started %s, decided was %s", lines[n], ran, words)
		}
	}
}

func FuzzReadScriptLine(f *testing.F) {
	for _, line := range scriptLines(300) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		interpreter, options, ok := readScriptLine(file)
		if !ok {
			if interpreter != "" || options != nil {
				t.Errorf("%q %q", interpreter, options)
			}
			return
		}
		head := file[:min(len(file), headSize-1)]
		if !bytes.HasPrefix(head, []byte("#!")) || len(options) > 1 {
			t.Errorf("%q %q", interpreter, options)
		}
		for _, word := range append(slices.Clone(options), interpreter) {
			if !bytes.Contains(head, []byte(word)) || strings.ContainsAny(word, "\n\x00") {
				t.Errorf("%q is not in its line", word)
			}
		}
		if strings.ContainsAny(interpreter, " \t") {
			t.Errorf("the interpreter %q has spaces", interpreter)
		}
		if again, _, ok := readScriptLine(append(slices.Clone(file), "more"...)); len(file) >= headSize && (!ok || again != interpreter) {
			t.Errorf("%q, by what is behind the head %q", interpreter, again)
		}
	})
}
