# Sourced by the scripts that see to a package of Debian's where what they look for is not there.

as= # what makes root of who runs this

# may tells whether packages can be installed, and else what to do: may WHO-ASKS NEED PACKAGE MEND.
may() {
	if ! command -v apt-get >/dev/null; then
		echo "$1: the tests need $2, and there is no apt-get to install it with; $4" >&2
		return 1
	fi
	if [ "$(id -u)" = 0 ]; then return 0; fi
	if ! sudo -n true 2>/dev/null; then
		echo "$1: the tests need $2; run: sudo apt-get install $3, or $4" >&2
		return 1
	fi
	as='sudo -n'
}

install() {
	$as apt-get -q update
	$as env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$1"
}
