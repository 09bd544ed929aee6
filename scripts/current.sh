#!/usr/bin/env bash
# current.sh: fail if the generators would change, add or remove a file, and name
# these files. It writes none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# listed prints the directories below the current one in which go generate runs the tool $1.
listed() {
	grep -rl --include='*.go' --exclude-dir={.git,testdata,bench} "^//go:generate go tool $1\b" . | xargs -r dirname | sort -u
}

# pages compares the output of templ for each page of the current directory with its file.
pages() {
	local page
	for page in *.templ; do
		"$templ" generate -f "$page" -stdout -include-version=false -log-level=error |
			cmp -s - "${page%.templ}_templ.go" || echo "stale: $PWD/${page%.templ}_templ.go"
	done
	for page in *_templ.go; do
		[[ -e ${page%_templ.go}.templ ]] || echo "left over: $PWD/$page"
	done
}

stale() {
	local kvgen dir
	kvgen=$(go tool -n kvgen) templ=$(go tool -n templ)
	listed kvgen | xargs "$kvgen" -check || true
	(cd bench && listed kvgen | xargs "$kvgen" -check) || true
	for dir in $(listed templ); do (cd "$dir" && pages); done
}

out=$(stale 2>&1)
if [[ -n $out ]]; then
	echo "$out" >&2
	echo "current: make generate brings these files up to date; review and commit them" >&2
	exit 1
fi
echo "current: all generated files are up to date"
