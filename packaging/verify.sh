#!/usr/bin/env bash
# Makes the release of the checked out commit twice, in two clones, and compares every byte. The second time
# every package is compiled again. `make release-verify` runs it with the arguments of `make release`.
# Nothing is signed, so it needs no key.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make_in() { # FOLDER ARGUMENTS…
	git clone -q . "$work/$1"
	(cd "$work/$1" && go run ./packaging -trial "${@:2}" >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }
	(cd "$work/$1/dist" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$work/sums.${1%%/*}"
}
make_in first "$@"
make_in second/in/another/folder "$@" -rebuild
diff "$work/sums.first" "$work/sums.second" || { echo "these files differ" >&2; exit 1; }
echo "$(wc -l <"$work/sums.first") files are the same in both builds"
