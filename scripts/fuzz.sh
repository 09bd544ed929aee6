#!/usr/bin/env bash
# fuzz.sh TIME [NAME]: run every fuzz target, or the one named NAME, for TIME, one
# after another.
#
# In Go up to 1.26, fuzzing may fail with "context deadline exceeded" when its
# time is up, although it has found nothing: https://go.dev/issue/75804. A target
# that ends this way without a failing input runs again, at most twice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

fuzz() { # package name time
	for _ in 1 2 3; do
		go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" "$1" </dev/null 2>&1 | tee "$log" && return
		grep -q '^ *context deadline exceeded$' "$log" || return 1
		! grep -q 'Failing input written' "$log" || return 1
		echo "fuzz: $2: failed only because its time was up; running it again"
	done
	return 1
}

targets=$(scripts/listed.sh "${2:-Fuzz\w*}")
if [[ -z $targets ]]; then
	echo "fuzz: there is no such target" >&2
	exit 1
fi
while read -r package name; do
	echo "fuzz: $name in $package for $1"
	fuzz "$package" "$name" "$1" || { echo "fuzz: $name failed" >&2; exit 1; }
done <<<"$targets"
