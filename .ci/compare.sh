#!/usr/bin/env bash
# Compares the Go benchmarks of this tree with those of the commit BASE, in turns on one machine,
# prints the table of benchstat, and fails where one is slower or allocates more by over 5 %.
#   BASE=HEAD~1   the commit to compare with
#   ROUNDS=6      runs of each tree; benchstat needs six to be sure of a difference
#   BENCH=.       a pattern of names
set -euo pipefail
cd "$(dirname "$0")/.."
base=${BASE:-HEAD~1} rounds=${ROUNDS:-6} bench=${BENCH:-.}
packages="./rpc ./bridge/policy ./bridge/rules ./bridge/shape ./relay/hook ./relay/trace"
work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add -q --detach "$work/base" "$base"

run() { # run TREE FILE
	(cd "$1" && go test -run '^$' -bench "$bench" -benchmem -benchtime 100ms $packages) >>"$2"
}
for ((i = 1; i <= rounds; i++)); do
	echo "round $i of $rounds"
	run "$work/base" "$work/base.txt"
	run . "$work/this.txt"
done

benchstat() { go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da "$@"; }
cd "$work"
benchstat base.txt this.txt
# The columns are: name, base, its spread, this, its spread, the difference ("~" where there is none), p.
benchstat -format csv base.txt this.txt | awk -F, '
	$2 == "sec/op" || $2 == "B/op" || $2 == "allocs/op" { unit = $2; next }
	$2 ~ /\/s$/ { unit = ""; next }
	unit != "" && $1 != "geomean" && $6 ~ /^\+/ && $6 + 0 > 5 { print "worse: " $1 ": " $6 " " unit; failed = 1 }
	END { exit failed }'
