#!/usr/bin/env bash
# Writes the summary as a comment on the pull request, in place of the comment of an earlier run. A token that may not
# comment, as in pull requests from forks, is a warning: the verdict does not depend on it.
set -euo pipefail

if [[ $SELVEDGE_WITH_COMMENT != true || -z $SELVEDGE_PULL_REQUEST || ! -s $SELVEDGE_MARKDOWN ]]; then
  exit 0
fi

warn() {
  echo "::warning title=Selvedge::no comment on the pull request: $1"
  exit 0
}
command -v jq > /dev/null || warn "jq is not installed"

marker="<!-- selvedge: $GITHUB_WORKFLOW / $GITHUB_JOB -->"
comments=${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/issues
# The token is not an argument, which other processes could read.
call() {
  curl --config <(printf 'header = "Authorization: Bearer %s"\n' "$SELVEDGE_TOKEN") --fail --silent --show-error \
    --retry 2 --header 'Accept: application/vnd.github+json' "$@"
}

# GitHub accepts 65,536 characters.
body=$(printf '%s\n%s\n' "$marker" "$(head -c 60000 "$SELVEDGE_MARKDOWN")" | jq --raw-input --slurp '{body: .}')
earlier=
for page in 1 2 3 4 5 6 7 8 9 10; do
  list=$(call "$comments/$SELVEDGE_PULL_REQUEST/comments?per_page=100&page=$page") ||
    warn "the token cannot read comments"
  earlier=$(jq --raw-output --arg marker "$marker" \
    'map(select(.body | startswith($marker)))[0].id // empty' <<< "$list")
  if [[ -n $earlier || $(jq length <<< "$list") -lt 100 ]]; then break; fi
done
if [[ -n $earlier ]]; then
  answer=$(call --request PATCH --data @- "$comments/comments/$earlier" <<< "$body") || answer=
else
  answer=$(call --request POST --data @- "$comments/$SELVEDGE_PULL_REQUEST/comments" <<< "$body") || answer=
fi
[[ -n $answer ]] || warn "the token needs the permission pull-requests: write"
jq --raw-output '.html_url // empty' <<< "$answer"
