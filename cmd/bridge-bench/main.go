//go:build linux

// Command bridge-bench measures the costs of the bridge: it builds the proxy, runs it as a real
// process against `cat` in the same place, and prints ratios.
//
//	go run ./cmd/bridge-bench [-list] [-only NAME,…] [-rounds N] [-short] [-records FOLDER] [-write docs/internals/benchmarks.md]
//
// Machines are noisy. Each round runs the proxy and the reference one after the other and gives one
// ratio; the report has the median of the rounds, with the smallest and the largest. Each round
// measures all rows, so that a slow minute of the machine affects all rows.
//
// A missed goal is a result: the exit status is 0 unless a measurement failed.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	if load := os.Getenv(envLoad); load != "" {
		if slices.Contains(os.Args, "--version") {
			fmt.Println("codex-cli 0.169.0") // as Codex prints it
			return
		}
		exitOn(runStandIn(load))
		return
	}
	if kind := os.Getenv(envWriter); kind != "" {
		exitOn(runWriter(kind))
		return
	}
	if work := os.Getenv(envStarter); work != "" {
		exitOn(runStarter(work))
		return
	}
	var o options
	flag.IntVar(&o.rounds, "rounds", 0, "rounds of each row (default 11, with -short 3)")
	flag.BoolVar(&o.short, "short", false, "a tenth of each load, and few rounds: to see whether all of it works")
	flag.StringVar(&o.only, "only", "", "measure only these `names`, as -list shows them, or all that begin with a name's words: pass, features/turns; separated by commas")
	flag.BoolVar(&o.list, "list", false, "only show the names of what is measured")
	flag.StringVar(&o.write, "write", "", "also write the report to this file, as Markdown")
	flag.StringVar(&o.records, "records", "", "also measure searches among ten million records, and keep the databases in this `folder`; to fill them takes about an hour and 15 GB")
	flag.StringVar(&o.proxy, "proxy", "", "measure this codex-bridge instead of building one")
	flag.Parse()
	if flag.NArg() > 0 {
		exitOn(fmt.Errorf("unexpected argument %q: use flags, see -help", flag.Arg(0)))
	}
	exitOn(run(o))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bridge-bench: "+strings.TrimSpace(err.Error()))
		os.Exit(1)
	}
}
