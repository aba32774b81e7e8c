#!/usr/bin/env bash
# Compares the Go benchmarks of this tree with those of the commit BASE, in turns on one machine, and
# prints the table of benchstat. It fails where this tree is slower or allocates more by over 5 % in two
# comparisons; the second one has only the benchmarks of the first one's regressions.
#   BASE=HEAD~1          the commit to compare with
#   ROUNDS=6             runs of each tree, at least 5: with fewer no difference is significant
#   BENCH=.              a pattern of names
#   PACKAGES="./rpc"     the packages; else those of all that a user waits for
#   OUT=bin/benchmarks   the folder that keeps the results and tables
set -euo pipefail
cd "$(dirname "$0")/.."
base=${BASE:-HEAD~1} rounds=${ROUNDS:-6} bench=${BENCH:-.} out=$PWD/${OUT:-bin/benchmarks}
# Those of a store with a million records take minutes.
packages=${PACKAGES:-./rpc ./bridge/config ./bridge/policy ./bridge/rules ./bridge/methods ./bridge/store
	./relay/hook ./relay/tools/provider ./relay/trace ./relay/transcript ./cmd/bridge-bench}
skip='^Benchmark(Find|Verify)$'
work=$(mktemp -d)
trap 'git worktree remove --force "$work" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add -q --detach "$work" "$base"
mkdir -p "$out"
rm -f "$out"/*.txt

run() { # run TREE PATTERN FILE
	(cd "$1" && go test -run '^$' -bench "$2" -skip "$skip" -benchmem -benchtime 100ms $packages) >>"$3"
}
benchstat() { go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da -alpha 0.01 "$@"; }

# compare NAME PATTERN writes NAME-base.txt, NAME-this.txt and NAME.txt, and prints what is worse. The
# columns are: name, base, its spread, this, its spread, the difference ("~" where there is none), p.
compare() {
	local name=$out/$1
	for ((i = 1; i <= rounds; i++)); do
		echo "$1: round $i of $rounds" >&2
		if ((i % 2)); then run "$work" "$2" "$name-base.txt"; fi
		run . "$2" "$name-this.txt"
		if ((i % 2 == 0)); then run "$work" "$2" "$name-base.txt"; fi
	done
	(cd "$out" && benchstat "$1-base.txt" "$1-this.txt") | tee "$name.txt" >&2
	(cd "$out" && benchstat -format csv "$1-base.txt" "$1-this.txt" 2>/dev/null) | awk -F, '
		$1 == "" && $2 != "" { unit = $2 ~ /^(sec\/op|B\/op|allocs\/op|x-[a-z-]+)$/ ? $2 : ""; next }
		unit != "" && $1 != "geomean" && $6 ~ /^\+/ && ($6 == "+Inf%" || $6 + 0 > 5) { print $1, $6, unit }'
}

worse=$(compare first "$bench")
if [ -n "$worse" ]; then
	echo "worse, compared once more:"$'\n'"$worse"
	again=$(cut -d' ' -f1 <<<"$worse" | sed 's/[-/].*//' | sort -u | paste -sd'|')
	second=$(compare second "^Benchmark($again)\$")
	worse=$(join <(cut -d' ' -f1,3 <<<"$worse" | tr ' ' , | sort) <(awk '{ print $1 "," $3, $2 }' <<<"$second" | sort))
fi
if [ -n "$worse" ]; then
	echo "worse, twice:"$'\n'"$worse"
	exit 1
fi
