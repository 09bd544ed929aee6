#!/usr/bin/env bash
# fuzz.sh TIME: run every fuzz target for that long, one after another.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

targets=$(scripts/listed.sh '^Fuzz')
if [[ -z $targets ]]; then
	echo "fuzz: there is no fuzz target yet"
	exit 0
fi
while read -r package name; do
	echo "fuzz: $name in $package for $1"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$1" "$package" </dev/null
done <<<"$targets"
