#!/usr/bin/env bash
# formatted.sh: fail if gofmt would change a file, and name the file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

unformatted=$(find . -name '*.go' -not -path '*/testdata/*' -exec gofmt -l {} +)
if [[ -n $unformatted ]]; then
	echo "formatted: gofmt -w would change:" >&2
	echo "$unformatted" >&2
	exit 1
fi
