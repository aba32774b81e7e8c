#!/bin/sh
# Sees to a browser for the tests in VS Code: one that is there, else Debian's chromium.
set -eu
for browser in /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome; do
	if [ -x "$browser" ]; then exit 0; fi
done
if ! command -v apt-get >/dev/null; then
	echo "chromium.sh: the tests in VS Code need /usr/bin/chromium, and there is no apt-get to install it with; install it" >&2
	exit 1
fi
as=
if [ "$(id -u)" != 0 ]; then
	if ! sudo -n true 2>/dev/null; then
		echo "chromium.sh: the tests in VS Code need chromium; run: sudo apt-get install chromium" >&2
		exit 1
	fi
	as='sudo -n'
fi
export DEBIAN_FRONTEND=noninteractive
$as apt-get -q update
$as apt-get -q install -y --no-install-recommends chromium
