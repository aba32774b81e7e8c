#!/usr/bin/env bash
# publish.sh FOLDER VERSION publishes the npm packages of a release, with provenance: first the programs, then the
# package that depends on them. It leaves out those that are already there, so it may run again. The workflow
# `release` runs it. NPM_TOKEN is a token for the first release, when npm can't trust the workflow yet.
set -euo pipefail
folder=$1
version=$2
case $version in *-*) tag=next ;; *) tag=latest ;; esac
if [ -n "${NPM_TOKEN:-}" ]; then
	npm config set --location=user "//registry.npmjs.org/:_authToken=$NPM_TOKEN"
fi
programs=$(find "$folder" -name "*-$version.tgz" ! -name "*codex-bridge-$version.tgz" | sort)
launcher=$(find "$folder" -name "*codex-bridge-$version.tgz")
if [ -z "$programs" ] || [ ! -f "$launcher" ]; then
	echo "publish.sh: $folder does not have the packages of $version" >&2
	exit 1
fi
for file in $programs "$launcher"; do
	name=$(tar -xzOf "$file" package/package.json | node -p 'JSON.parse(require("fs").readFileSync(0)).name')
	if npm view "$name@$version" version 2>/dev/null | grep -qxF "$version"; then
		echo "$name@$version is already published"
		continue
	fi
	npm publish --provenance --access public --tag "$tag" "$file"
done
