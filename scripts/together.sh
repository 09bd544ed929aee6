#!/usr/bin/env bash
# together.sh "MODULE..." COMMAND...: run the command in a workspace of these modules, whose
# paths begin at the root of the checkout. There, what one module has built serves the
# others. A module that requires the root's has the same versions of packages in a workspace
# with it as alone.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOWORK=$work/go.work
# The modules are not quoted, because they may be a pattern.
(cd "$root" && go work init $1) 2>"$work/said" || { cat "$work/said" >&2 && exit 1; }
"${@:2}"
