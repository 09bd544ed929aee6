#!/usr/bin/env bash
# lint.sh STATICCHECK...: run gofmt, go vet and the command STATICCHECK on all modules at once.
# Bench is vetted by itself, because its peers want other versions of what users build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Compilers and linters end soon, and a quarter of their time would be spent on freeing memory.
export GOGC=400

scripts/formatted.sh
packages=(./...)
for adapter in adapters/*; do packages+=("./$adapter/..."); done
scripts/together.sh ". adapters/*" go vet "${packages[@]}"
scripts/together.sh ". adapters/*" "$@" "${packages[@]}"
cd bench && ../scripts/together.sh ". bench" go vet ./...
