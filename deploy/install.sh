#!/bin/sh
# Installs Molar for the current user, or upgrades it; nothing needs root:
#
#   curl -fsSL ADDRESS/install.sh | sh
#   curl -fsSL ADDRESS/install.sh | sh -s -- --uninstall
#
# It downloads the archive of this system from a release, compares it with the release's
# checksums.txt, and puts the program, its manual and its completions in place.
#
#   --version VERSION  another release than that of this script (MOLAR_VERSION)
#   --bin FOLDER       where the program goes: ~/.local/bin (MOLAR_BIN)
#   --releases ADDRESS the folder of the releases, which holds v1.2.3/ for each (MOLAR_RELEASES), such as
#                      https://github.com/ORG/molar/releases/download
#   --uninstall        remove what was installed, and tell which data is left
#
# The last line alone does something, and only whole: a script that arrives incomplete does nothing.
set -eu

# A release fills these in (.goreleaser.yaml).
RELEASE=
RELEASES=

say() { printf '%s\n' "$@"; }
fail() {
	printf 'install.sh: %s\n' "$*" >&2
	exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

main() {
	[ -n "${HOME-}" ] || fail "HOME is not set: set it to your home folder"
	version=${MOLAR_VERSION:-$RELEASE} bin=${MOLAR_BIN:-$HOME/.local/bin} releases=${MOLAR_RELEASES:-$RELEASES} task=install
	while [ $# -gt 0 ]; do
		case $1 in
		--version | --bin | --releases)
			[ $# -gt 1 ] || fail "$1 needs a value"
			case $1 in
			--version) version=$2 ;;
			--bin) bin=$2 ;;
			--releases) releases=$2 ;;
			esac
			shift
			;;
		--uninstall) task=uninstall ;;
		*) fail "$1 is unknown: want --version VERSION, --bin FOLDER, --releases ADDRESS or --uninstall" ;;
		esac
		shift
	done
	case $bin in
	/?*) bin=${bin%/} ;;
	*) fail "the folder \"$bin\" is relative: write its whole path" ;;
	esac
	shared
	"$task"
}

# shared sets share to the folder where shells and man look for what belongs to programs in $bin; empty
# if there is none.
shared() {
	case $bin in
	"$HOME"/*)
		share=$HOME/.local/share
		case ${XDG_DATA_HOME-} in /*) share=$XDG_DATA_HOME ;; esac
		;;
	*/bin) share=${bin%/bin}/share ;;
	*) share='' ;;
	esac
}

# platform sets system and arch as the names of archives have them.
platform() {
	system=$(uname -s) arch=$(uname -m)
	case $system in
	Linux) system=linux ;;
	Darwin) system=darwin ;;
	MINGW* | MSYS* | CYGWIN* | Windows*)
		fail "on Windows, unpack molar_${version}_windows_amd64.zip (or arm64) from $releases/v$version/ and put its folder into PATH; in WSL, this script works"
		;;
	*) fail "there is no archive for $system: build from source with Go, go build ./cmd/molar" ;;
	esac
	case $arch in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no archive for the processor $arch: build from source with Go, go build ./cmd/molar" ;;
	esac
}

# get ADDRESS FILE. curl follows no redirect from https to http; the wget of busybox has few options.
get() {
	if has curl; then
		curl -fsSL --proto "=${1%%:*}" --connect-timeout 30 --speed-limit 1 --speed-time 60 --retry 2 -o "$2" "$1"
	elif has wget; then
		wget -q -O "$2" "$1"
	else
		fail "neither curl nor wget is installed: install one of them"
	fi || fail "$1 could not be downloaded: check the version and the address of the releases"
}

# sum FILE prints its SHA-256.
sum() {
	if has sha256sum; then
		line=$(sha256sum "$1")
	elif has shasum; then
		line=$(shasum -a 256 "$1")
	else
		fail "neither sha256sum nor shasum is installed, so that the archive cannot be checked: install one of them"
	fi
	say "${line%% *}"
}

# check FILE compares a file with its line in checksums.txt.
check() {
	want=''
	while read -r hash name; do
		[ "$name" != "$1" ] || want=$hash
	done <"$tmp/checksums.txt"
	[ -n "$want" ] || fail "checksums.txt of the release does not name $1: nothing was installed"
	got=$(sum "$tmp/$1") || exit
	[ "$got" = "$want" ] || fail "$1 has the SHA-256 $got, but checksums.txt names $want: nothing was installed; download again, or ask who runs $releases"
}

# version_of PROGRAM prints its name and version.
version_of() {
	line=$("$1" --version) || return
	say "$line" | cut -d ' ' -f 1,2
}

# clean removes what an installation leaves behind, also one that failed or was stopped.
clean() {
	rm -rf "$tmp"
	rm -f "$bin/.molar.$$"
}

install() {
	version=${version#v}
	[ -n "$releases" ] || fail "the address of the releases is not known: set MOLAR_RELEASES to the folder that holds v1.2.3/ for each release"
	[ -n "$version" ] || fail "the version is not known: name one, such as MOLAR_VERSION=1.2.3"
	releases=${releases%/} insecure=''
	case $releases in
	https://* | file:///* | http://127.0.0.1[:/]* | http://localhost[:/]*) ;;
	*) insecure=yes ;;
	esac
	case $releases in http://*@*) insecure=yes ;; esac # what is before @ is a name, not the host
	[ -z "$insecure" ] || fail "the address of the releases is $releases: want https://"
	platform
	[ ! -d "$bin/molar" ] || fail "$bin/molar is a folder: name another folder with MOLAR_BIN"
	tmp=$(mktemp -d)
	trap clean EXIT
	trap 'exit 1' HUP INT TERM

	file=molar_${version}_${system}_$arch.tar.gz
	say "Downloading $releases/v$version/$file"
	get "$releases/v$version/checksums.txt" "$tmp/checksums.txt"
	get "$releases/v$version/$file" "$tmp/$file"
	check "$file"
	mkdir "$tmp/molar"
	tar -xzf "$tmp/$file" -C "$tmp/molar"

	{ mkdir -p "$bin" && [ -w "$bin" ]; } 2>/dev/null || fail "$bin cannot be written: name another folder with MOLAR_BIN"
	# Renamed within the folder: a molar that runs or starts meanwhile is the old one or the new one.
	cp "$tmp/molar/molar" "$bin/.molar.$$"
	chmod 755 "$bin/.molar.$$"
	new=$(version_of "$bin/.molar.$$") || fail "the program of $file does not run on this machine: nothing was installed"
	old=$(version_of "$bin/molar" 2>/dev/null) || old=''
	mv -f "$bin/.molar.$$" "$bin/molar"
	extras || say "The manual and the completions could not be written below $share."

	if [ -n "$old" ]; then
		say "Replaced $old in $bin/molar by $new." "A molar serve that runs is the old one until you restart it."
	else
		say "Installed $new as $bin/molar."
	fi
	advise
}

# extras puts the manual and the completions of the archive in place.
extras() {
	[ -n "$share" ] || return 0
	remove_extras
	place "$tmp/molar/completion/molar.bash" "$share/bash-completion/completions" molar &&
		place "$tmp/molar/completion/molar.zsh" "$share/zsh/site-functions" _molar &&
		place "$tmp/molar/completion/molar.fish" "$share/fish/vendor_completions.d" molar.fish || return
	for page in "$tmp"/molar/man/*.1; do
		place "$page" "$share/man/man1" "${page##*/}" || return
	done
}

# place FILE FOLDER NAME copies a file, if the archive has it.
place() {
	[ -f "$1" ] || return 0
	{ mkdir -p "$2" && cp "$1" "$2/$3"; } 2>/dev/null
}

remove_extras() {
	[ -z "$share" ] || rm -f "$share/bash-completion/completions/molar" "$share/zsh/site-functions/_molar" \
		"$share/fish/vendor_completions.d/molar.fish" "$share"/man/man1/molar.1 "$share"/man/man1/molar-*.1
}

# advise says what is left to do until the name molar starts this program.
advise() {
	case :$PATH: in
	*:"$bin":*)
		first=$(command -v molar) || first=''
		[ "$first" = "$bin/molar" ] || say "But $first comes first in PATH: remove it."
		;;
	*) say "$bin is not in PATH. Add this line to the file that your shell reads at its start, and open a new shell:" "  export PATH=\"$bin:\$PATH\"" ;;
	esac
	case ${SHELL-} in
	*/zsh)
		[ -z "$share" ] || say "For completion, put this line into ~/.zshrc, before compinit:" "  fpath=(\"$share/zsh/site-functions\" \$fpath)"
		;;
	esac
	say "Begin with: molar init"
}

uninstall() {
	[ -f "$bin/molar" ] || fail "there is no $bin/molar: name its folder with MOLAR_BIN"
	case $(version_of "$bin/molar" 2>/dev/null) in
	"molar "*) ;;
	*) fail "$bin/molar is another program, or does not run: remove it yourself" ;;
	esac
	rm -f "$bin/molar" || fail "$bin/molar cannot be removed"
	remove_extras
	say "Removed $bin/molar, its manual and its completions."
	data=$HOME/.local/share/molar config=$HOME/.config/molar
	[ "$(uname -s)" != Darwin ] || data="$HOME/Library/Application Support/molar"
	case ${XDG_DATA_HOME-} in /*) data=$XDG_DATA_HOME/molar ;; esac
	case ${XDG_CONFIG_HOME-} in /*) config=$XDG_CONFIG_HOME/molar ;; esac
	if [ -e "$data" ]; then say "Left: $data (conversations, keys and what was learnt)"; fi
	if [ -e "$config" ]; then say "Left: $config (settings; secrets are in molar.env)"; fi
}

{ main "$@"; }
