#!/bin/sh
# Sees to a C compiler, which the race detector needs: one that is there, else Debian's gcc.
set -eu
if command -v "$(go env CC)" >/dev/null; then exit 0; fi
. "$(dirname "$0")/../testdata/debian.sh"
may cc.sh "a C compiler, for the race detector" gcc "install one yourself"
install gcc
install libc6-dev
