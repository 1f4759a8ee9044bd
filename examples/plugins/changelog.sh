#!/bin/sh
# A plug-in check: whoever changes the sources says so in CHANGELOG.md, below the first heading.
#
#     [[checks]]
#     type = "plugin"
#     run = "sh checks/changelog.sh"
#
# A plug-in need not read its request: this one runs in the directory that it is about. The contract is in
# docs/reference/plugins.md.
set -eu

answer() {
  printf '{"v": 1, "status": "%s", "reason": "%s"}\n' "$1" "$2"
  exit 0
}

test -f CHANGELOG.md || answer fail "there is no CHANGELOG.md"
changed=$(git status --porcelain --untracked-files=all)
printf '%s\n' "$changed" >&2
case $changed in
  *CHANGELOG.md*) answer pass "the changelog was written" ;;
  *src/*) answer fail "src/ was changed and CHANGELOG.md was not: add a line on what users notice" ;;
  *) answer pass "no source was changed" ;;
esac
