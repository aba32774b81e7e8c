#!/bin/sh
# neovim.sh DIR [SUITE] installs Neovim from Debian SUITE (trixie by default) with its libraries
# below DIR. DIR/nvim starts it. The script changes nothing outside DIR and needs no root rights,
# because apt uses state folders in DIR. Neovim runs with its own dynamic loader, because an older
# system has an older libc. Without Debian's apt, the script links a Neovim 0.10 or later from PATH.
set -eu
dir=$(mkdir -p "$1" && cd "$1" && pwd)
if [ -x "$dir/nvim" ]; then exit 0; fi
if [ "$(uname)" != Linux ]; then
	echo "neovim.sh: the tests in Neovim run on Linux only" >&2
	exit 0
fi
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
if ! command -v apt-get >/dev/null || [ ! -r "$keyring" ]; then
	if nvim --headless -u NONE '+if has("nvim-0.10") | quit | else | cquit | endif' 2>/dev/null; then
		ln -sf "$(command -v nvim)" "$dir/nvim"
		exit 0
	fi
	echo "neovim.sh: Debian's apt is not available; install Neovim 0.10 or later" >&2
	exit 1
fi

# The Debian mirror of this machine's apt configuration.
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' | grep -E '/debian/?$' | head -n 1)}
if [ -z "$mirror" ]; then
	echo "neovim.sh: apt has no Debian mirror; set DEBIAN_MIRROR to the URL of one" >&2
	exit 1
fi

apt=$dir/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/parts"
: >"$apt/status"
cat >"$apt/debian.sources" <<SOURCES
Types: deb
URIs: $mirror
Suites: ${2:-trixie}
Components: main
Signed-By: $keyring
SOURCES

options="-o Dir::State=$apt -o Dir::State::status=$apt/status -o Dir::State::lists=$apt/lists
	-o Dir::Cache=$apt -o Dir::Cache::archives=$apt/archives -o Dir::Etc::sourcelist=$apt/debian.sources
	-o Dir::Etc::sourceparts=$apt/parts -o Debug::NoLocking=1 -o APT::Install-Recommends=0
	-o APT::Sandbox::User=$(id -un) -o Acquire::Languages=none -o Acquire::Retries=3 -q"
# shellcheck disable=SC2086
apt-get $options update
# shellcheck disable=SC2086
apt-get $options install --download-only -y neovim

root=$dir/root
mkdir -p "$root"
for deb in "$apt"/archives/*.deb; do dpkg-deb -x "$deb" "$root"; done

triplet=$(cd "$root/usr/lib" && ls -d *-linux-gnu | head -n 1)
loader=$(ls "$root/usr/lib/$triplet"/ld-linux-*.so.* | head -n 1)
mkdir -p "$root/usr/lib/lib" # where Neovim looks for its parsers when a loader starts it
ln -sfn ../nvim "$root/usr/lib/lib/nvim"
cat >"$dir/nvim.new" <<START
#!/bin/sh
export VIMRUNTIME='$root/usr/share/nvim/runtime'
exec '$loader' --library-path '$root/usr/lib/$triplet' '$root/usr/bin/nvim' "\$@"
START
chmod +x "$dir/nvim.new"
"$dir/nvim.new" --version | head -n 1
rm -rf "$apt"
mv "$dir/nvim.new" "$dir/nvim"
