#!/bin/sh
# Sees to a browser for the tests in VS Code: one that is there, else Debian's chromium.
set -eu
for browser in /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome; do
	if [ -x "$browser" ]; then exit 0; fi
done
. "$(dirname "$0")/../../../testdata/debian.sh"
may chromium.sh "/usr/bin/chromium" chromium "install it yourself"
install chromium
