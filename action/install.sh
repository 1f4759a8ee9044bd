#!/usr/bin/env bash
# Says where the program is: the one that was named, one on PATH, or one built from this very source.
set -euo pipefail

program=${SELVEDGE_PROGRAM:-}
if [[ -z $program ]]; then
  program=$(command -v selvedge || true)
fi
if [[ -z $program ]]; then
  root=$RUNNER_TEMP/selvedge-program
  cargo install --locked --quiet --root "$root" --path "$GITHUB_ACTION_PATH/../crates/selvedge"
  program=$root/bin/selvedge
fi
"$program" --version
echo "program=$program" >> "$GITHUB_OUTPUT"
