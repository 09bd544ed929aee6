#!/usr/bin/env bash
# current.sh: run the generators and fail if that changes, adds or removes a
# file. The files are then as they should be, to be looked at and committed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

snapshot() {
	find . -type f -not -path './.git/*' -not -path './example-app/data/*' -exec sha256sum {} + | sort -k 2
}

before=$(snapshot)
go generate ./...
(cd bench && go generate ./...)
after=$(snapshot)
if [[ $before != "$after" ]]; then
	echo "current: these generated files were not what the generator writes:" >&2
	{ diff <(echo "$before") <(echo "$after") || true; } | awk '/^[<>]/ { print "  " $3 }' | sort -u >&2
	echo "current: they have been written again; look at them and commit them" >&2
	exit 1
fi
echo "current: generated files are what the generator writes"
