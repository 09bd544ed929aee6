#!/usr/bin/env bash
# current.sh: fail if the generators would change, add or remove a file, and name
# these files. It writes none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# See lint.sh.
export GOGC=400

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
	local dir
	go tool kvgen -check ./... || true
	(cd bench && ../scripts/together.sh ". bench" go tool kvgen -check ./...) || true
	templ=$(go tool -n templ)
	while read -r dir; do
		(cd "$dir" && pages)
	done < <(find . -name '*.templ' -not -path '*/testdata/*' | sed 's,/[^/]*$,,' | sort -u)
}

out=$(stale 2>&1)
if [[ -n $out ]]; then
	echo "$out" >&2
	echo "current: make generate brings these files up to date; review and commit them" >&2
	exit 1
fi
echo "current: all generated files are up to date"
