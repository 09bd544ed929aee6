#!/usr/bin/env bash
# models.sh: run the exhaustive checkers of the protocols. They are tests named
# TestModels_..., next to the code whose protocol they check. go test runs only
# their smaller worlds; this runs all of them and prints how many states each has.
set -euo pipefail
export RINGTREE_PROVE=all
cd "$(dirname "${BASH_SOURCE[0]}")/.."

models=$(scripts/listed.sh 'TestModels_\w*')
if [[ -z $models ]]; then
	echo "models: there is no test named TestModels_..." >&2
	exit 1
fi
while read -r package name; do
	go test -count=1 -v -timeout 60m -run "^$name\$" "$package"
done <<<"$models"
