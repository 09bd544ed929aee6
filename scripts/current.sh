#!/usr/bin/env bash
# current.sh: run the generators, and fail if that changes, adds or removes a
# file. The files are then up to date: review and commit them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

snapshot() {
	find . -type f -not -path './.git/*' -not -path './example-app/data/*' -exec sha256sum {} + | sort -k 2
}

before=$(snapshot)
make --no-print-directory generate
after=$(snapshot)
if [[ $before != "$after" ]]; then
	echo "current: these generated files were out of date:" >&2
	{ diff <(echo "$before") <(echo "$after") || true; } | awk '/^[<>]/ { print "  " $3 }' | sort -u >&2
	echo "current: they are up to date now; review and commit them" >&2
	exit 1
fi
echo "current: all generated files are up to date"
