#!/usr/bin/env bash
# setup.sh PROGRAM...: make sure that the programs are installed.
#
# On Debian and its relatives it installs missing programs, if it runs as root or
# sudo asks for no password. Elsewhere it says what to install and fails. Debian
# starts some servers when it installs them; they do no harm, because the tests
# start their own on free ports.
set -euo pipefail

packages_of() {
	case $1 in
	redis-cli) echo redis-tools ;;
	chromium) echo chromium fonts-liberation ;;
	postgres) echo postgresql ;;
	cc) echo gcc libc6-dev ;;
	*) echo "$1" ;;
	esac
}

# installed says whether a program is there; Debian puts PostgreSQL's beside the PATH.
installed() {
	command -v "$1" >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null
}

missing=()
find_missing() {
	missing=()
	local program
	for program in "$@"; do
		installed "$program" || missing+=("$program")
	done
}

find_missing go
if ((${#missing[@]})); then
	echo "setup: Go is not installed or not on the PATH; see https://go.dev/doc/install" >&2
	exit 1
fi

find_missing "$@"
((${#missing[@]})) || exit 0

packages=()
for program in "${missing[@]}"; do
	read -ra more <<<"$(packages_of "$program")"
	packages+=("${more[@]}")
done
echo "setup: not installed: ${missing[*]}"

refuse() {
	echo "setup: $1" >&2
	echo "setup: install these and run make again; on Debian: apt-get install ${packages[*]}" >&2
	exit 1
}

command -v apt-get >/dev/null || refuse "there is no apt-get to install them with"
if [[ $(id -u) == 0 ]]; then
	as_root=(env)
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	as_root=(sudo -n env)
else
	refuse "this user may not install packages"
fi

apt() {
	"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"
}

# The package lists may be missing, as in a fresh container, or too old.
echo "setup: installing ${packages[*]}"
if ! apt install -y --no-install-recommends "${packages[@]}"; then
	echo "setup: trying again with fresh package lists"
	apt update || refuse "apt-get update failed"
	apt install -y --no-install-recommends "${packages[@]}" || refuse "apt-get install failed"
fi

find_missing "${missing[@]}"
((${#missing[@]} == 0)) || refuse "still not on the PATH after installation: ${missing[*]}"
