#!/usr/bin/env bash
# prove.sh FUZZTIME [TIME]: prove what takes too long for make test: go through all
# that the tests have to go through, and fuzz each target for FUZZTIME.
#
# With a TIME such as 2m or 90s, prove a part: take the tests that have more to do,
# which their names say, and the fuzz targets one after another, in an order that
# changes with the commit, give each some seconds, and start none once TIME is up. What
# they choose by chance depends on the commit, too, so a run can be repeated.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# == 1)); then
	RINGTREE_PROVE=all go test -count=1 -timeout 48h ./...
	RINGTREE_NEAR=1 RINGTREE_PROVE=all go test -count=1 -timeout 5h -run '^TestSweep_' ./...
	exec scripts/fuzz.sh "$1"
fi

case $2 in
*m) limit=$((60 * ${2%m})) ;;
*) limit=${2%s} ;;
esac
commit=$(git rev-parse HEAD 2>/dev/null || date +%s)
echo "prove: for $2, in the order of $commit"
shuffled() {
	local line
	while read -r line; do
		echo "$(cksum <<<"$commit $line") $line"
	done | sort -n | cut -d ' ' -f 3-
}

near=0
while read -r package name; do
	((SECONDS < limit)) || break
	[[ $name != TestSweep_* ]] || near=$((1 - near))
	echo "prove: $name in $package, RINGTREE_NEAR=$near"
	case $name in
	Fuzz*) scripts/fuzz.sh 10s "$name" ;;
	*) RINGTREE_NEAR=$near RINGTREE_PROVE=10s RINGTREE_PROVE_BY=$commit go test -count=1 -v -timeout 30m -run "^$name\$" "$package" </dev/null ;;
	esac
done < <(scripts/listed.sh '(Fuzz|Test(Sweep|Models|Matrix|Long)_)\w*' | shuffled)
