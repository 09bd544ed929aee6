#!/usr/bin/env bash
# docs.sh [PAGE...]: write what tests measure and draw into docs/: costs, sizing, pictures and
# screenshots, or the pages named. reliability takes hours.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

(($#)) || set -- costs sizing pictures screenshots
for page in "$@"; do
	case $page in
	costs) (cd bench && go test -count=1 -run TestPage ./costs -update) ;;
	sizing | pictures) (cd bench && go test -count=1 "./$page" -update) ;;
	screenshots) go test -count=1 -run TestScreenshots ./example-app/apptest -screenshots ../../docs/screenshots ;;
	reliability) go test -count=1 -timeout 5h -run TestMatrix_ ./internal/whole -reliability ../../docs/reliability-matrices.md ;;
	*) echo "docs: no page is called $page" >&2 && exit 1 ;;
	esac
done
