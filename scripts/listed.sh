#!/usr/bin/env bash
# listed.sh PATTERN: print "package name" for each test or fuzz target whose
# whole name matches PATTERN.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

{ grep -roE --include='*_test.go' --exclude-dir=bench --exclude-dir=testdata "^func ($1)\(" . || true; } |
	sed -E 's|/[^/]*:func | |; s|\($||' | sort
