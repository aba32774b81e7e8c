//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// envStarter makes this program one that starts programs: so many, or those of a script. It writes the times into the
// file of its first argument.
const envStarter = "BRIDGE_BENCH_STARTER"

func runStarter(work string) error {
	if len(os.Args) != 2 {
		return errors.New("a starter needs a file")
	}
	var took []float64
	if times, err := strconv.Atoi(work); err == nil {
		took, err = startTimes(times)
		if err != nil {
			return err
		}
	} else {
		begin := time.Now()
		cmd := exec.Command("sh", work) //nolint:gosec // the benchmark wrote it
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
		took = []float64{ms(time.Since(begin))}
	}
	raw, err := json.Marshal(took)
	if err != nil {
		return err
	}
	file := os.Args[1]
	return errors.Join(os.WriteFile(file+".new", raw, 0o600), os.Rename(file+".new", file))
}

// startTimes returns the times from the start of a program to its end, in µs.
func startTimes(times int) ([]float64, error) {
	program, err := exec.LookPath("true")
	if err != nil {
		return nil, err
	}
	took := make([]float64, times)
	for i := range took {
		begin := time.Now()
		p, err := os.StartProcess(program, []string{"true", "one", "two"}, &os.ProcAttr{})
		if err != nil {
			return nil, err
		}
		if _, err := p.Wait(); err != nil {
			return nil, err
		}
		took[i] = float64(time.Since(begin)) / float64(time.Microsecond)
	}
	return took, nil
}

// buildScript is a quarter of a build: it starts 500 processes, one after the other.
const buildScript = "build.sh"

// buildText needs only the tools of every system.
const buildText = `set -e
n=0
while [ $n -lt 100 ]; do
	f=src/$((n % 20)).c
	cat "$f" >out.i
	grep -c include out.i >out.count
	sed 's/int/long/' out.i >out.s
	sort out.s >out.o
	cmp -s out.s out.i || n=$((n + 1))
done
`

// writeBuild writes the script and the small files into a folder.
func writeBuild(dir string) error {
	err := errors.Join(os.Mkdir(filepath.Join(dir, "src"), 0o700), os.WriteFile(filepath.Join(dir, buildScript), []byte(buildText), 0o600))
	for i := range 20 {
		text := fmt.Sprintf("#include <stdio.h>\n%sint main(void) { return %d; }\n", strings.Repeat("int x;\n", 40), i)
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "src", strconv.Itoa(i)+".c"), []byte(text), 0o600))
	}
	return err
}
