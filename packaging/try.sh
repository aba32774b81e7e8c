#!/usr/bin/env bash
# Makes a release and installs it from local files in each way that this machine can, without the network.
# What is not tried, because a program is missing, is printed too. RELEASE_TARGETS="linux/amd64" builds less.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.0.0-rc.1 # a pre-release, which each format writes in its own way
work=$(mktemp -d /var/tmp/codex-bridge-try.XXXXXX) # below /tmp, no policy can be enforced
registry=
trap '[ -z "$registry" ] || kill "$registry"; chmod -R u+w "$work"; rm -rf "$work"' EXIT
modules=$(go env GOMODCACHE)
export COLUMNS=1000 # a pattern holds for one line
# Nothing of the user's is read or changed.
mkdir -m 700 "$work/state" "$work/codex"
export CODEX_BRIDGE_CONFIG='' CODEX_BRIDGE_STATE=$work/state CODEX_HOME=$work/codex
export npm_config_cache=$work/cache npm_config_userconfig=$work/npmrc npm_config_prefix=$work/prefix
dist=$work/dist
arch=$(go env GOARCH)
minisign="go run -trimpath aead.dev/minisign/cmd/minisign@v0.3.0"

ok() { echo "ok         $*"; }
skip() { echo "not tried  $*"; }
fail() { echo "FAILED     $*" >&2; exit 1; }
commit=$(git rev-parse HEAD)
runs() { # NAME PROGRAM…: it is the program of this release
	local text
	text=$("${@:2}" version) || fail "$1"
	[ "$(head -1 <<<"$text")" = "codex-bridge $version" ] && grep -q "$commit" <<<"$text" || fail "$1: $text"
	ok "$1"
}
codex=$PWD/testdata/npm/node_modules/.bin/codex
works() { # NAME PROGRAM…: it makes a configuration, under which the real Codex runs its hook
	if [ ! -x "$codex" ]; then skip "$1: init and doctor: the real Codex is not installed; run make setup"; return; fi
	"${@:2}" init --stdout >"$work/config.toml" || fail "$1: init"
	CODEX_BRIDGE_CONFIG=$work/config.toml CODEX_BRIDGE_CODEX=$codex "${@:2}" doctor >"$work/log" 2>&1 &&
		grep -q 'a hook was fired and answered' "$work/log" || fail "$1: doctor: $(cat "$work/log")"
	ok "$1: init, and doctor with $(wc -l <"$work/log") lines"
}
installed() { # NAME FOLDER ZSH: a package that is unpacked there
	runs "$1" "$2/usr/bin/codex-bridge"
	local file
	for file in doc/codex-bridge/{copyright,NOTICE,THIRD_PARTY_LICENSES} man/man1/codex-bridge.1 \
		bash-completion/completions/codex-bridge fish/vendor_completions.d/codex-bridge.fish "zsh/$3/_codex-bridge"; do
		[ -s "$2/usr/share/$file" ] || fail "$1: $file is missing"
	done
}

$minisign -G -W -s "$work/key" -p "$work/key.pub" >"$work/log" || fail "minisign: $(cat "$work/log")"
keys=()
if command -v openssl >/dev/null; then
	openssl genrsa -out "$work/apk.key" 2048 2>/dev/null && openssl rsa -in "$work/apk.key" -pubout -out "$work/apk.pub" 2>/dev/null
	keys+=(-apk-key "$work/apk.key")
fi
if command -v gpg >/dev/null; then
	mkdir -m 700 "$work/gnupg" && export GNUPGHOME=$work/gnupg
	gpg --batch --quiet --passphrase '' --quick-generate-key packages@codex-bridge.example rsa3072 sign never 2>"$work/log" || fail "gpg: $(cat "$work/log")"
	gpg --batch --armor --export-secret-keys >"$work/package.key" && gpg --armor --export >"$work/package.asc"
	keys+=(-package-key "$work/package.key")
fi
go run ./packaging -version "$version" -repository https://host.example/owner/codex-bridge \
	-trial -dist "$dist" -key "$work/key" "${keys[@]}" ${RELEASE_TARGETS:+-targets "$RELEASE_TARGETS"}

# Checksums and signature. GitHub changes other characters of a name.
[ -z "$(find "$dist" -maxdepth 1 -type f -name '*[!A-Za-z0-9._-]*')" ] || fail "names: $(ls "$dist")"
(cd "$dist" && sha256sum --quiet -c checksums.txt) && ok "sha256sum -c checksums.txt"
$minisign -V -q -p "$work/key.pub" -m "$dist/checksums.txt" && ok "minisign: the signature is valid"
cp "$dist/checksums.txt" "$dist/checksums.txt.minisig" "$work" && echo >>"$work/checksums.txt"
if $minisign -V -q -p "$work/key.pub" -m "$work/checksums.txt" >"$work/log" 2>&1; then fail "minisign accepts changed checksums"; fi
ok "minisign: changed checksums are refused"
if command -v minisign >/dev/null; then
	minisign -V -q -p "$work/key.pub" -m "$dist/checksums.txt" && ok "minisign in C: the signature is valid"
fi

# Archives.
tar -xzf "$dist/codex-bridge_${version}_linux_$arch.tar.gz" -C "$work"
unpacked=$work/codex-bridge_${version}_linux_$arch
runs "tar.gz" "$unpacked/codex-bridge"
works "tar.gz" "$unpacked/codex-bridge"
[ "$(stat -c %Y "$unpacked/LICENSE")" = "$(git log -1 --format=%ct)" ] || fail "tar.gz: the date is not that of the commit"
for bundle in "$dist"/*darwin*.tar.gz; do
	[ -e "$bundle" ] || continue
	tar -tzf "$bundle" >"$work/log" && grep -q '/codex-bridge$' "$work/log" && ok "${bundle##*/}: is whole (it can't run here)"
done
for bundle in "$dist"/*.zip; do
	[ -e "$bundle" ] || continue
	if command -v unzip >/dev/null; then unzip -tq "$bundle" >/dev/null && ok "${bundle##*/}: is whole (it can't run here)"; else skip "${bundle##*/}: there is no unzip"; fi
done

# The pages.
bash -n "$unpacked/completions/codex-bridge.bash" && ok "the completions of bash"
if command -v zsh >/dev/null; then zsh -n "$unpacked/completions/_codex-bridge" && ok "the completions of zsh"; else skip "zsh"; fi
if command -v fish >/dev/null; then fish --no-execute "$unpacked/completions/codex-bridge.fish" && ok "the completions of fish"; else skip "fish"; fi
if command -v groff >/dev/null; then
	warnings=$(groff -man -Tascii -P-cbou -ww "$unpacked/man/codex-bridge.1" 2>&1 >"$work/page")
	[ -z "$warnings" ] && grep -q 'policy test' "$work/page" || fail "man: $warnings"
	ok "the manual page, with groff"
else skip "groff"; fi

# SBOM: the modules that Go says are in the program.
node -e '
	const { components } = JSON.parse(require("fs").readFileSync(process.argv[1]));
	const names = new Set(components.map((c) => c.name));
	for (const line of process.argv[2].split("\n"))
		if (!names.has(line)) { console.error("the SBOM lacks " + line); process.exit(1) }
	console.log("ok         SBOM: " + names.size + " components")' \
	"$dist/codex-bridge_${version}_linux_$arch.cdx.json" "$(go version -m "$unpacked/codex-bridge" | awk '$1 == "dep" { print $2 }')"

# Packages.
deb=$(echo "$dist"/*_"$(dpkg --print-architecture 2>/dev/null || echo "$arch")".deb)
if command -v dpkg >/dev/null; then
	mkdir -p "$work"/deb/var/lib/dpkg/{info,updates} && touch "$work"/deb/var/lib/dpkg/{status,available}
	dpkg --root="$work/deb" --force-not-root --log=/dev/null -i "$deb" >"$work/log" 2>&1 || fail "dpkg -i: $(cat "$work/log")"
	installed "dpkg -i" "$work/deb" vendor-completions
	works "dpkg -i" "$work/deb/usr/bin/codex-bridge"
	dpkg --root="$work/deb" --force-not-root --log=/dev/null -r codex-bridge >"$work/log" 2>&1 && [ ! -e "$work/deb/usr/bin/codex-bridge" ] && ok "dpkg -r"
else skip "deb: there is no dpkg"; fi
rpm=$(echo "$dist"/*."$(uname -m)".rpm)
if command -v rpm >/dev/null; then
	rpm --root="$work/rpm" --nodeps --nosignature -i "$rpm" >"$work/log" 2>&1 || fail "rpm -i: $(cat "$work/log")"
	installed "rpm -i" "$work/rpm" site-functions
elif command -v bsdtar >/dev/null; then
	mkdir "$work/rpm" && bsdtar -xf "$rpm" -C "$work/rpm"
	installed "rpm, unpacked by bsdtar" "$work/rpm" site-functions
else skip "rpm: there is no rpm and no bsdtar"; fi
mkdir "$work/apk"
tar --warning=no-unknown-keyword -xzf "$(echo "$dist"/*_"$(uname -m)".apk)" -C "$work/apk"
installed "apk, unpacked by tar" "$work/apk" site-functions
grep -q '^pkgver = 0.0.0_rc1$' "$work/apk/.PKGINFO" || fail "apk: $(cat "$work/apk/.PKGINFO")"

# The signatures in the packages.
if [ -e "$work/package.key" ] && command -v ar >/dev/null; then
	mkdir "$work/parts" && (cd "$work/parts" && ar x "$deb")
	(cd "$work/parts" && cat debian-binary control.tar.* data.tar.*) >"$work/signed"
	gpg --verify "$work/parts/_gpgorigin" "$work/signed" 2>"$work/log" || fail "deb: the signature: $(cat "$work/log")"
	ok "deb: the signature is valid"
else skip "deb: the signature: there is no gpg or no ar"; fi
if [ -e "$work/package.key" ] && command -v rpmkeys >/dev/null; then
	mkdir "$work/rpmkeys" && rpmkeys --dbpath "$work/rpmkeys" --import "$work/package.asc"
	rpmkeys --dbpath "$work/rpmkeys" --checksig "$rpm" >"$work/log" 2>&1 && grep -qi 'signatures OK' "$work/log" || fail "rpm: the signature: $(cat "$work/log")"
	ok "rpm: the signature is valid"
else skip "rpm: the signature: there is no gpg or no rpmkeys"; fi
if [ -e "$work/apk.key" ]; then
	# An apk is three gzip streams: the signature of the second one, the control data, the files.
	node -e '
		const { readFileSync } = require("fs"), { createVerify } = require("crypto"), { gunzipSync } = require("zlib");
		const bytes = readFileSync(process.argv[1]), starts = [];
		for (let at = bytes.indexOf("1f8b08", 0, "hex"); at >= 0 && starts.length < 20; at = bytes.indexOf("1f8b08", at + 1, "hex")) starts.push(at);
		const first = gunzipSync(bytes.subarray(0, starts[1]));
		const name = first.subarray(0, 100).toString().replace(/\0.*/s, ""), size = parseInt(first.subarray(124, 136).toString(), 8);
		const verified = starts.slice(2).some((end) => createVerify("RSA-SHA1").update(bytes.subarray(starts[1], end)).verify(readFileSync(process.argv[2]), first.subarray(512, 512 + size)));
		if (name !== ".SIGN.RSA.codex-bridge.rsa.pub" || !verified) { console.error(name + ": the signature is not valid"); process.exit(1) }' \
		"$(echo "$dist"/*_"$(uname -m)".apk)" "$work/apk.pub" || fail "apk: the signature"
	ok "apk: the signature is valid"
else skip "apk: the signature: there is no openssl"; fi

# npm and npx, with a registry on this machine that has only these packages.
node packaging/npm/registry.js "$dist/npm" >"$work/address" &
registry=$!
for _ in {1..50}; do [ -s "$work/address" ] || sleep 0.2; done
npm_config_registry=$(cat "$work/address")
export npm_config_registry npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false npm_config_loglevel=error
root=$PWD
mkdir "$work/npx" && cd "$work/npx"
runs "npx codex-bridge version" npx --yes codex-bridge
works "npx codex-bridge" npx --yes codex-bridge
mkdir "$work/npm" && cd "$work/npm"
npm_config_cache=$work/empty npm install --offline "$dist/npm/codex-bridge-$version.tgz" "$(echo "$dist"/npm/codex-bridge-linux-"$(node -p process.arch)"-*.tgz)" >"$work/log" 2>&1 ||
	fail "npm install: $(cat "$work/log")"
bin=$work/npm/node_modules/.bin/codex-bridge
runs "npm install --offline of the tarballs" "$bin"
works "npm install" "$bin"
status() { # WANTED NAME COMMAND…
	local got=0
	{ "${@:3}" >"$work/log" 2>&1; } 2>/dev/null || got=$? # bash reports a signal there
	[ "$got" = "$1" ] || fail "$2: status $got instead of $1: $(cat "$work/log")"
	ok "$2"
}
status 2 "npm: the exit status is passed on" "$bin" policy frobnicate
program=$work/npm/node_modules/codex-bridge-linux-$(node -p process.arch)/bin/codex-bridge
printf '#!/bin/sh\ntrap "exit 7" TERM\necho ready\nwhile :; do sleep 0.1; done\n' >"$program"
signalled() { # SIGNAL
	"$bin" >"$work/ready" & local pid=$!
	until [ -s "$work/ready" ]; do sleep 0.1; done
	kill -"$1" "$pid" && wait "$pid"
}
status 7 "npm: a signal reaches the program" signalled TERM
printf '#!/bin/sh\necho ready\nkill -KILL $$\n' >"$program"
status 137 "npm: a signal that ended the program ends the launcher" "$bin"
printf '#!/bin/sh\ncat\n' >"$program"
[ "$(echo text | "$bin")" = text ] && ok "npm: standard input and output are passed on"
rm -r "${program%/bin/*}"
status 1 "npm: the platform's package is missing" "$bin" version
grep -q 'is not installed. Install codex-bridge again' "$work/log" || fail "npm: $(cat "$work/log")"
cd "$root"

# go install, from a proxy of files: this commit, and the modules that are in the module cache.
module=$(go list -m)
proxy=$work/proxy/$module/@v
mkdir -p "$proxy"
excluded=()
for file in $(git ls-files '*/go.mod'); do excluded+=(":(exclude)${file%/go.mod}"); done
git archive --format=zip --prefix="$module@v$version/" -o "$proxy/v$version.zip" HEAD . "${excluded[@]}"
git show HEAD:go.mod >"$proxy/v$version.mod"
echo "{\"Version\":\"v$version\"}" >"$proxy/v$version.info"
echo "v$version" >"$proxy/list"
GOMODCACHE=$work/modules GOBIN=$work/gobin GOFLAGS=-modcacherw GOSUMDB=off \
	GOPROXY="file://$work/proxy,file://$modules/cache/download" CGO_ENABLED=0 \
	go install -trimpath "$module/cmd/codex-bridge@v$version" >"$work/log" 2>&1 || fail "go install: $(cat "$work/log")"
[ "$("$work/gobin/codex-bridge" version | head -1)" = "codex-bridge $version" ] || fail "go install: $("$work/gobin/codex-bridge" version)"
ok "go install $module/cmd/codex-bridge@v$version"

# Another module path: all imports are found, and each file has the form of gofmt.
git clone -q . "$work/clone"
(cd "$work/clone" && make -s module MODULE=host.example/owner/codex-bridge && go list -test ./... >/dev/null) >"$work/log" 2>&1 || fail "make module: $(cat "$work/log")"
git -C "$work/clone" ls-files -z '*.go' | (cd "$work/clone" && xargs -0 gofmt -l) >"$work/log"
[ -s "$work/log" ] && fail "make module leaves files that gofmt changes: $(cat "$work/log")"
ok "make module"

# Manifests: each hash is that of an artifact, and what makepkg runs makes a package that runs.
for manifest in homebrew/codex-bridge.rb scoop/codex-bridge.json aur/PKGBUILD aur/.SRCINFO; do
	if [ ! -e "$dist/$manifest" ]; then skip "$manifest: RELEASE_TARGETS lacks its systems"; continue; fi
	for sum in $(grep -oE '[0-9a-f]{64}' "$dist/$manifest"); do grep -q "^$sum" "$dist/checksums.txt" || fail "$manifest: $sum"; done
	for url in $(grep -oE "releases/download/[^\"' ]*" "$dist/$manifest"); do [ -e "$dist/${url##*/}" ] || fail "$manifest: $url"; done
	ok "$manifest: its hashes and addresses"
done
if [ -e "$dist/scoop/codex-bridge.json" ]; then node -e 'JSON.parse(require("fs").readFileSync(process.argv[1]))' "$dist/scoop/codex-bridge.json" && ok "scoop: JSON"; fi
if command -v ruby >/dev/null && [ -e "$dist/homebrew/codex-bridge.rb" ]; then ruby -c "$dist/homebrew/codex-bridge.rb" >/dev/null && ok "Homebrew: Ruby"; else skip "ruby"; fi
if [ -e "$dist/aur/PKGBUILD" ]; then
	(cd "$work" && srcdir=$work pkgdir=$work/aur CARCH=$(uname -m) && . "$dist/aur/PKGBUILD" && package)
	runs "AUR: package() of the PKGBUILD" "$work/aur/usr/bin/codex-bridge"
fi
