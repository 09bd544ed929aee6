#!/usr/bin/env bash
# test.sh: run the parts of make test, and then print the seconds that each took, and each package,
# the slowest first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

part() { # name command...
	local begun=$SECONDS status=0
	"${@:2}" 2>&1 | tee -a "$log" || status=$?
	echo "part $1 $((SECONDS - begun)) $status" >>"$log"
	return $status
}

# beside runs a command in each of the other modules.
beside() { for module in bench adapters/*; do (cd "$module" && "$@") || return; done; }

# Goroutines really meet in these. Those that wait the longest, for a server or a disk, come first.
raced=(./kvmodel/{rediskv,boltkv,memcachekv,memkv,nearkv,kvsession,kv,internal/sides} ./internal/{work,contact})

# Tests of boltkv that are left out there run here.
all=$(go list ./...)
rest=$(grep -vxFf <(go list "${raced[@]}") <<<"$all")
first=(./example-app/apptest ./kvmodel/boltkv ./codegen/kvgen ./internal/{whole,repotest})

failed=
part setup make --no-print-directory setup || failed=1
part lint make --no-print-directory lint || failed=1
part current scripts/current.sh || failed=1
# These run at the same time, because much of each is waiting. Lint has vetted all packages, with
# more checks than go test makes.
part race env CGO_ENABLED=1 go test -race -vet=off -parallel 4 -timeout 30m "${raced[@]}" &
part tests go test -vet=off -parallel 4 -timeout 30m "${first[@]}" $rest &
# What these read of docs/ is in another module, so a result that is kept may be of other docs.
part beside beside go test -vet=off -count=1 -timeout 30m ./... &
for job in $(jobs -p); do wait "$job" || failed=1; done

echo "test: seconds by package and by part, slowest first"
awk '($1 == "ok" || $1 == "FAIL") && NF > 2 { print $3 + 0, $2 } /^part / { print $3, "part: " $2 ($4 ? " (failed)" : "") }' "$log" |
	sort -rn | awk '{ printf "%7.1f %s\n", $1, substr($0, length($1) + 2) }'
if [[ $failed ]]; then
	echo "test: failed" >&2
	exit 1
fi
echo "test: all passed in $SECONDS seconds"
