#!/bin/sh
# Sees to a PostgreSQL for the tests of a state that is shared: one that is there, else Debian's. Its programs are
# what is needed: no cluster is made and no server started, each test starts one of its own.
set -eu
if [ "$(uname)" != Linux ]; then
	echo "postgres.sh: the tests against PostgreSQL run on Linux only" >&2
	exit 0
fi
if [ -n "${CODEX_BRIDGE_POSTGRES:-}" ]; then
	if [ -x "$CODEX_BRIDGE_POSTGRES/initdb" ]; then exit 0; fi
	echo "postgres.sh: CODEX_BRIDGE_POSTGRES is $CODEX_BRIDGE_POSTGRES, and there is no initdb; it is the folder of the server's programs" >&2
	exit 1
fi
for initdb in /usr/lib/postgresql/*/bin/initdb; do
	if [ -x "$initdb" ]; then exit 0; fi
done
if command -v initdb >/dev/null; then exit 0; fi
. "$(dirname "$0")/../../../testdata/debian.sh"
may postgres.sh "a PostgreSQL" postgresql "set CODEX_BRIDGE_POSTGRES to the folder of initdb and postgres, or put them on PATH"
# The package would make a cluster, and start its server with each start of the machine.
parts=/etc/postgresql-common/createcluster.d
none=$parts/codex-bridge-tests.conf
trap '$as rm -f "$none"; $as rmdir "$parts" 2>/dev/null || :' EXIT
$as mkdir -p "$parts"
echo 'create_main_cluster = false' | $as tee "$none" >/dev/null
install postgresql
