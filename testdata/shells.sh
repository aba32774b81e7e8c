#!/bin/sh
# Installs the shells that the tests hold the grammar of rules against, Debian's where one is missing.
set -eu
. "$(dirname "$0")/debian.sh"
for shell in bash dash zsh; do
	if command -v "$shell" >/dev/null; then continue; fi
	may shells.sh "the shell $shell" "$shell" "install it yourself"
	install "$shell"
done
