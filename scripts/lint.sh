#!/usr/bin/env bash
# lint.sh STATICCHECK...: run gofmt, go vet and the command STATICCHECK on all modules at once.
# Bench is vetted by itself, because its peers want other versions of what users build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/formatted.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOWORK=$work/go.work
modules=(. adapters/*)
go work init "${modules[@]}" 2>"$work/said" || { cat "$work/said" >&2 && exit 1; }
packages=("${modules[@]/%//...}")
go vet "${packages[@]/#/./}"
"$@" "${packages[@]/#/./}"
cd bench && GOWORK=off go vet ./...
