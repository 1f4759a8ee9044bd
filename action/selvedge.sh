#!/usr/bin/env bash
# Runs Selvedge, and says what it found where GitHub shows it. What agents and tools print is shown
# while GitHub is told to read no commands; the annotations, which Selvedge escapes, come after that.
set -euo pipefail

case $SELVEDGE_COMMAND in
  verify | run) ;;
  *)
    echo "::error title=Selvedge::the command is verify or run"
    exit 2
    ;;
esac

scratch=$(mktemp -d "$RUNNER_TEMP/selvedge-XXXXXX")
result=$scratch/result.json
arguments=("$SELVEDGE_COMMAND" --format json --markdown "$scratch/summary.md")
arguments+=("--annotations=github=$scratch/annotations")
[[ -z $SELVEDGE_SARIF ]] || arguments+=(--sarif "$SELVEDGE_SARIF")
[[ -z $SELVEDGE_JUNIT ]] || arguments+=(--junit "$SELVEDGE_JUNIT")
[[ -z $SELVEDGE_ATTESTATION ]] || arguments+=(--attest "$SELVEDGE_ATTESTATION")
while IFS= read -r argument; do
  [[ -z $argument ]] || arguments+=("$argument")
done <<< "$SELVEDGE_ARGUMENTS"

token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$token"
code=0
# Its variables are this script's, not those of the checks.
env -u SELVEDGE_PROGRAM -u SELVEDGE_COMMAND -u SELVEDGE_ARGUMENTS -u SELVEDGE_WITH_ANNOTATIONS \
  -u SELVEDGE_WITH_SUMMARY -u SELVEDGE_SARIF -u SELVEDGE_JUNIT -u SELVEDGE_ATTESTATION \
  "$SELVEDGE_PROGRAM" "${arguments[@]}" > "$result" || code=$?
cat "$scratch/summary.md" 2> /dev/null || true
echo
echo "::$token::"

if [[ $SELVEDGE_WITH_ANNOTATIONS == true ]]; then
  cat "$scratch/annotations" 2> /dev/null || true
fi
if [[ $SELVEDGE_WITH_SUMMARY == true && -s $scratch/summary.md ]]; then
  cat "$scratch/summary.md" >> "$GITHUB_STEP_SUMMARY"
fi

# A quotation mark inside a text is escaped in JSON, so nothing that anybody printed looks like this.
word() { grep -o "\"$1\":\"[a-z_]*\"" "$result" | head -n 1 | cut -d '"' -f 4 || true; }
outcome=$(word outcome)
if [[ -z $outcome ]]; then
  case $(word status) in
    pass) outcome=verified ;;
    skip | auto_pass) outcome=unchecked ;;
    fail | timeout) outcome=not_verified ;;
    *) outcome=infra_failed ;;
  esac
fi
{
  echo "outcome=$outcome"
  echo "exit-code=$code"
  echo "result=$result"
  echo "markdown=$scratch/summary.md"
} >> "$GITHUB_OUTPUT"
