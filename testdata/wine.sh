#!/bin/sh
# Runs the program for Windows and tests of its packages by Wine: wine.sh FOLDER
#
# A program of Go 1.26 needs bcryptprimitives.dll, which the Wine 8 of Debian 12 lacks. So the Wine is that of
# Debian 13, which debootstrap puts into FOLDER with its libraries. This needs Debian, root and the network;
# without them nothing is run, and a line says so. WINE_SKIP=1 skips it, too.
#
# Wine is not Windows: its cmd.exe, file locks and short names are its own.
set -eu
cd "$(dirname "$0")/.."
skip() { echo "wine.sh: nothing was run for Windows: $1" >&2; exit 0; }
[ -z "${WINE_SKIP:-}" ] || skip "WINE_SKIP is set"
root=$(realpath -m "$1")
if [ -z "${WINE_NAMESPACE:-}" ]; then
	[ "$(id -u)" = 0 ] || skip "it needs root"
	unshare -m true 2>/dev/null || skip "this machine allows no mounts"
	if ! [ -e "$root/ready" ]; then
		command -v apt-get >/dev/null || skip "there is no apt-get to install debootstrap with"
		. testdata/debian.sh
		command -v debootstrap >/dev/null || install debootstrap || skip "debootstrap can't be installed"
		rm -rf "$root"
		mkdir -p "$root"
		debootstrap --variant=minbase --include=wine64 trixie "$root" http://deb.debian.org/debian >"$root.log" 2>&1 || skip "debootstrap failed; see $root.log"
		touch "$root/ready"
	fi
	WINE_NAMESPACE=1 exec unshare -m sh testdata/wine.sh "$root" # the mounts end with it
fi

mkdir -p "$root/src" "$root/home" "$root/tmp/go"
mount --bind /proc "$root/proc"
mount --bind "$PWD" "$root/src"
mount --bind /var/tmp "$root/var/tmp" # the end-to-end test has its folders there
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0 GOTMPDIR="$root/tmp/go" WINE_ROOT="$root" WINE_SOURCE="$PWD"

# run is also what go test runs a test's program with.
cat >"$root/tmp/run" <<'EOF'
#!/bin/sh
program=${1#"$WINE_ROOT"}
shift
folder=$PWD
case $PWD in "$WINE_SOURCE"*) folder=/src${PWD#"$WINE_SOURCE"} ;; esac
exec chroot "$WINE_ROOT" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/home XDG_RUNTIME_DIR=/home WINEPREFIX=/home/prefix WINEDEBUG=-all ${WINE_ENV:-} \
	/bin/sh -c 'cd "$1" && shift && exec /usr/lib/wine/wine64 "$@"' sh "$folder" "$program" "$@"
EOF
chmod +x "$root/tmp/run"
run() { "$root/tmp/run" "$@"; }

go build -trimpath -o "$root/tmp/codex-bridge.exe" ./cmd/codex-bridge
run wineboot -i >/dev/null 2>&1 || true # reports a missing 32-bit part
run /tmp/codex-bridge.exe version
# expect WORDS COMMAND…: a command of the program succeeds and prints the words.
expect() {
	words=$1
	shift
	out=$(run /tmp/codex-bridge.exe "$@" 2>&1) || { echo "wine.sh: $* failed: $out" >&2; exit 1; }
	case $out in *"$words"*) ;; *) echo "wine.sh: $* printed no \"$words\": $out" >&2; exit 1 ;; esac
}
mkdir -p "$root/home/work"
run /tmp/codex-bridge.exe init --stdout >"$root/home/work/config.toml"
export WINE_ENV='CODEX_BRIDGE_CONFIG=Z:\home\work\config.toml'
echo '{"id":1,"method":"thread/start","params":{"sandbox":"danger-full-access"}}' >"$root/home/work/request.json"
expect '"danger-full-access" -> "' policy explain --workspace 'Z:\home\work' 'Z:\home\work\request.json'
if run /tmp/codex-bridge.exe hook --socket 'Z:\home\none' --event pre_tool_use --timeout 2s </dev/null >"$root/home/hook" 2>&1; then
	grep -q '"permissionDecision":"deny"' "$root/home/hook" || { echo "wine.sh: a hook without a bridge did not deny: $(cat "$root/home/hook")" >&2; exit 1; }
elif [ $? != 2 ]; then
	echo "wine.sh: a hook without a bridge failed: $(cat "$root/home/hook")" >&2
	exit 1
fi

unset WINE_ENV

# The real Codex for Windows, as npm has it.
release=$(node -p 'require("./testdata/npm/package.json").dependencies["@openai/codex"]')-win32-x64
if [ ! -e "$root/home/codex/$release" ]; then
	rm -rf "$root/home/codex"
	mkdir -p "$root/home/codex"
	(cd "$root/home/codex" && npm pack --silent "@openai/codex@$release" >/dev/null && tar xzf ./*.tgz --strip-components=4 --wildcards '*/bin/codex.exe' && rm ./*.tgz)
	touch "$root/home/codex/$release"
fi
printf "[codex]\\ncommand = 'Z:/home/codex/codex.exe'\\n" >"$root/home/work/codex.toml"
export WINE_ENV='COLUMNS=1000 CODEX_HOME=Z:/home/codex-home CODEX_BRIDGE_CONFIG=Z:/home/work/codex.toml'
mkdir -p "$root/home/codex-home"
found=$(run /tmp/codex-bridge.exe doctor 2>&1) || true # its trial of hooks can't start Codex in a new home: see wine_test.go
case $found in *"names of codex"*"runs commands in its sandbox"*) ;; *) echo "wine.sh: doctor printed $found" >&2; exit 1 ;; esac
unset WINE_ENV
go build -o "$root/home/prefix/drive_c/windows/system32/WindowsPowerShell/v1.0/powershell.exe" testdata/wine/powershell.go
WINE_RUN="$root/tmp/run" GOOS=linux go test -tags wine -count=1 ./cmd/codex-bridge/e2e -run '^TestCodexForWindows$'

# Not run: tests that need sh, go, links or the names of Unix files.
go test -p 1 -vet=off -count=1 -timeout 5m -exec "$root/tmp/run" -skip 'TestImports|TestForgedAddresses|TestCommandSurvives|WhenReadingInputFails|TestManyProcesses' \
	./rpc ./bridge/child ./relay/hook/... ./bridge/argv
go test -p 1 -vet=off -count=1 -timeout 5m -exec "$root/tmp/run" -run 'Windows' ./bridge/guard
go test -p 1 -vet=off -count=1 -timeout 5m -exec "$root/tmp/run" -run 'BatchFile|NPMProgram|ProgramNames|WebSocket|Version' -skip 'TestProgramVersion' ./bridge/codex
go test -p 1 -vet=off -count=1 -timeout 5m -exec "$root/tmp/run" -run 'TestOpen|TestKilledWriter|TestAppend$' ./bridge/store
go test -p 1 -vet=off -count=1 -timeout 5m -exec "$root/tmp/run" -run 'TestFilesCanBeMoved' ./bridge/config
