#!/bin/sh
# Installs Debian's chromium for the tests in VS Code, unless a browser is installed.
set -eu
for browser in /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome; do
	if [ -x "$browser" ]; then exit 0; fi
done
. "$(dirname "$0")/../../../testdata/debian.sh"
may chromium.sh "/usr/bin/chromium" chromium "install it yourself"
install chromium
