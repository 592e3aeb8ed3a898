#!/bin/sh
# Replays cases of molar eval in CI, writes reports, and keeps one comment on the change up to date.
# action.yml (GitHub) and gitlab.yml call it; it needs sh, curl and jq, and is told everything by
# the environment:
#
#   MOLAR_CASES      files and folders of cases, one a line
#   MOLAR_CONFIG     the config of cases that name none (optional)
#   MOLAR            the program (molar); with MOLAR_VERSION, that release is downloaded instead
#   MOLAR_RELEASES   the address of the releases, such as https://github.com/ORG/molar/releases/download
#   MOLAR_BASE       a JSON report to compare with, if that file exists (optional)
#   MOLAR_OUT        the folder of the reports (molar-eval)
#   MOLAR_COMMENT    true: comment on the change
#   MOLAR_TOKEN      the token that may comment; without it the report is only in files
#   MOLAR_PULL       the number of the pull request (GitHub)
#
# It exits as molar eval run does, whatever becomes of the comment.
set -eu

out=${MOLAR_OUT:-molar-eval}
molar=${MOLAR:-molar}
token=${MOLAR_TOKEN-}
: "${MOLAR_CASES:?names no file or folder of cases}"
unset MOLAR_TOKEN # programs that are started here do not get it
export MOLAR_EVAL_RECORD=never

note() { printf 'molar eval: %s\n' "$1"; }

# download sets molar to the program of the release MOLAR_VERSION.
download() {
	tmp=$(mktemp -d)
	arch=$(uname -m)
	case $arch in
	x86_64) arch=amd64 ;;
	aarch64) arch=arm64 ;;
	esac
	version=${MOLAR_VERSION#v}
	file=molar_${version}_$(uname -s | tr '[:upper:]' '[:lower:]')_$arch.tar.gz
	for name in "$file" checksums.txt; do
		curl -fsSL --retry 3 --max-time 300 -o "$tmp/$name" "${MOLAR_RELEASES:?}/v$version/$name"
	done
	(cd "$tmp" && grep " $file\$" checksums.txt >one && sha256sum -c one >/dev/null)
	tar -xzf "$tmp/$file" -C "$tmp" molar
	molar=$tmp/molar
}

# evaluate runs the cases and writes the reports.
evaluate() {
	set --
	[ -z "${MOLAR_CONFIG-}" ] || set -- --config "$MOLAR_CONFIG"
	set -- "$@" --
	while IFS= read -r path; do
		[ -z "$path" ] || set -- "$@" "$path"
	done <<-END
		$MOLAR_CASES
	END
	"$molar" eval run --json "$out/report.json" --junit "$out/junit.xml" --markdown "$out/report.md" "$@"
}

# call asks the forge. The token is no argument, which other users of the machine could read.
call() { printf '%s\n' "$header" | curl -sS --fail --max-time 60 -H @- "$@"; }

# comment creates the comment with the report, or updates the one of an earlier run: that of the same
# author which begins with the report's marker.
comment() {
	if [ -n "${GITHUB_ACTIONS-}" ]; then
		repo=$GITHUB_API_URL/repos/$GITHUB_REPOSITORY
		all=$repo/issues/$MOLAR_PULL/comments one=$repo/issues/comments update=PATCH
		header="Authorization: Bearer $token" author=.user.login me='github-actions[bot]'
	else
		all=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes one=$all update=PUT
		header="PRIVATE-TOKEN: $token" author=.author.username
		me=$(call "$CI_API_V4_URL/user" | jq -er .username) || return
	fi
	id='' page=1
	while [ -z "$id" ] && [ "$page" -le 50 ]; do
		list=$(call "$all?per_page=100&page=$page") || return
		id=$(printf '%s' "$list" | jq -r --arg me "$me" --arg marker "$(head -n 1 "$out/report.md")" \
			"map(select($author == \$me and ((.body // \"\") | startswith(\$marker)))) | first | .id // empty") || return
		[ "$(printf '%s' "$list" | jq length)" -eq 100 ] || break
		page=$((page + 1))
	done
	jq -Rs '{body: .}' "$out/report.md" >"$out/comment.json" || return
	if [ -n "$id" ]; then
		set -- -X "$update" "$one/$id"
	else
		set -- -X POST "$all"
	fi
	call -o "$out/comment.log" -H 'Content-Type: application/json' --data-binary "@$out/comment.json" "$@" || return
	note "the comment is up to date"
}

mkdir -p "$out"
rm -f "$out/report.json" "$out/junit.xml" "$out/report.md"
[ -z "${MOLAR_VERSION-}" ] || download

# What models and tools said is printed here: no line of it is a command to the runner.
stop=
if [ -n "${GITHUB_ACTIONS-}" ]; then
	stop=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	printf '::stop-commands::%s\n' "$stop"
fi
code=0
evaluate || code=$?
if [ -n "${MOLAR_BASE-}" ] && [ -f "$MOLAR_BASE" ] && [ -f "$out/report.json" ]; then
	"$molar" eval report --markdown "$out/report.md" -- "$MOLAR_BASE" "$out/report.json" ||
		[ $? -eq 1 ] || note "the base report could not be compared"
fi
[ -z "$stop" ] || printf '::%s::\n' "$stop"
if [ ! -f "$out/report.md" ]; then # a fault of the command, which it printed
	printf '<!-- molar-eval -->\n### ❌ molar eval did not run\n\nThe log of the job has the reason (exit code %d).\n' "$code" >"$out/report.md"
fi
if [ -n "${GITHUB_ACTIONS-}" ]; then
	printf 'exit-code=%d\n' "$code" >>"${GITHUB_OUTPUT:-/dev/null}"
	cat "$out/report.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
	[ "$code" -eq 0 ] || printf '::error title=molar eval::%s\n' "$(sed -n 4p "$out/report.md")"
fi
if [ "${MOLAR_COMMENT-}" = true ] && [ -n "${MOLAR_PULL-}${CI_MERGE_REQUEST_IID-}" ]; then
	if [ -z "$token" ]; then
		note "there is no token to comment with"
	else
		comment || note "the comment could not be written, as for a change from a fork; the report is in $out"
	fi
fi
rm -f "$out/comment.json" "$out/comment.log"
exit "$code"
