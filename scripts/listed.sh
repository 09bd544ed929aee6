#!/usr/bin/env bash
# listed.sh PATTERN: print "package name" for each test or fuzz target whose
# name matches PATTERN.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go test -list "$1" ./... | awk '
	/^(Test|Fuzz)/ { names[++n] = $1 }
	/^ok/          { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }'
