#!/usr/bin/env bash
# models.sh: run the exhaustive checkers of the protocols. They are tests named
# TestModel..., and come with the packages whose protocols they check. go test
# runs the smaller of their worlds, this all of them.
set -euo pipefail
export RINGTREE_MODELS=all
cd "$(dirname "${BASH_SOURCE[0]}")/.."

models=$(scripts/listed.sh '^TestModel')
if [[ -z $models ]]; then
	echo "models: there is none yet; they come with the index packages"
	exit 0
fi
while read -r package name; do
	go test -count=1 -v -timeout 30m -run "^$name\$" "$package"
done <<<"$models"
