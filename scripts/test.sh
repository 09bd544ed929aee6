#!/usr/bin/env bash
# test.sh: run the parts of make test, and then print the seconds that each took, and each package,
# the slowest first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

log=$(mktemp)
trap 'rm -f "$log"' EXIT

part() { # name command...
	local begun=$SECONDS status=0
	"${@:2}" 2>&1 | tee -a "$log" || status=$?
	echo "part $1 $((SECONDS - begun)) $status" >>"$log"
	return $status
}

# whole shows the output of a command when it has ended, not amid that of the others.
whole() {
	local out status=0
	out=$("$@" 2>&1) || status=$?
	[[ -z $out ]] || echo "$out"
	return $status
}

# shared compiles what lint and tests have in common. GOGC is explained in lint.sh; it is for
# compilers and not for tests.
shared() {
	export GOGC=400
	scripts/together.sh ". adapters/*" go list -export -deps -test ./... ./adapters/{otel,prometheus}/... >/dev/null &&
		cd bench && ../scripts/together.sh ". bench" go vet ./...
}

# Goroutines really meet in these. Those that wait the longest, for a server or a disk, come first.
raced=(./kvmodel/{rediskv,boltkv,memcachekv,memkv,nearkv,kvsession,kv,internal/sides} ./internal/{work,contact})

race() {
	export CGO_ENABLED=1
	GOGC=400 go list -race -export -deps -test "${raced[@]}" >/dev/null &&
		go test -race -vet=off -parallel 4 -timeout 30m "${raced[@]}"
}

# beside runs the tests of the other modules. What they read of docs/ is in another module, so a
# result that is kept may be of other docs. The first command fails where a go.mod lacks something.
beside() {
	local module status=0
	for module in bench adapters/*; do
		cd "$root/$module"
		GOWORK=off go list -deps -test ./... >/dev/null &&
			GOGC=400 "$root/scripts/together.sh" ". $module" \
				go test -vet=off -count=1 -timeout 30m -exec "env -u GOGC" ./... || status=1
	done
	return $status
}

# Tests of boltkv that are left out there run here.
all=$(go list ./...)
rest=$(grep -vxFf <(go list "${raced[@]}") <<<"$all")
first=(./example-app/apptest ./kvmodel/boltkv ./codegen/kvgen ./internal/{whole,repotest})

failed=
begun=()
begin() {
	part "$@" &
	begun+=($!)
}

# Parts run at the same time, because much of the tests is waiting. Commands that run at the same time
# would each compile what they share, so that is compiled before; race shares nothing with the others.
# Lint vets all packages, with more checks than go test makes.
part setup make --no-print-directory setup || failed=1
begin race race
part compile shared || failed=1
begin lint whole make --no-print-directory lint
begin current whole scripts/current.sh
begin tests go test -vet=off -parallel 4 -timeout 30m "${first[@]}" $rest
begin beside beside
for job in "${begun[@]}"; do wait "$job" || failed=1; done

echo "test: seconds by package and by part, slowest first"
awk '($1 == "ok" || $1 == "FAIL") && NF > 2 { print $3 + 0, $2 } /^part / { print $3, "part: " $2 ($4 ? " (failed)" : "") }' "$log" |
	sort -rn | awk '{ printf "%7.1f %s\n", $1, substr($0, length($1) + 2) }'
if [[ $failed ]]; then
	echo "test: failed" >&2
	exit 1
fi
echo "test: all passed in $SECONDS seconds"
