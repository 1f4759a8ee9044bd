#!/usr/bin/env bash
# Says where the program is: the one that was named, one on PATH, the release of the named version or of the action's
# tag, or one built from this very source. A download is used only if its checksum is the expected one, whether it
# was downloaded now or restored from a cache.
set -euo pipefail

# The checksum of a file: Linux and macOS have different programs for it.
sha256() {
  if command -v sha256sum > /dev/null; then
    sha256sum "$1"
  else
    shasum -a 256 "$1"
  fi | cut -d ' ' -f 1
}

fetch() { curl --fail --silent --show-error --location --retry 3 --output "$2" "$1"; }

fail() {
  echo "::error title=Selvedge::$1"
  exit 2
}

target() {
  local machine
  case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no release for $(uname -m): set the input program" ;;
  esac
  case $(uname -s) in
    Linux) echo "$machine-unknown-linux-musl" ;;
    Darwin) echo "$machine-apple-darwin" ;;
    *) fail "there is no release for $(uname -s): set the input program" ;;
  esac
}

# Prints the program of a release.
download() {
  local version=$1 name archive folder base expected actual
  name="selvedge-$version-$(target)"
  folder=$RUNNER_TEMP/selvedge-downloads
  archive=$folder/$name.tar.gz
  base=${SELVEDGE_DOWNLOAD:-${GITHUB_SERVER_URL:-https://github.com}/${SELVEDGE_ACTION_REPOSITORY:-}/releases/download}
  base=$base/v$version
  mkdir -p "$folder"
  expected=${SELVEDGE_SHA256:-}
  if [[ -z $expected ]]; then
    fetch "$base/SHA256SUMS" "$folder/SHA256SUMS"
    expected=$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$folder/SHA256SUMS")
    [[ -n $expected ]] || fail "the release v$version has no $name.tar.gz"
  fi
  if [[ ! -f $archive || $(sha256 "$archive") != "$expected" ]]; then
    fetch "$base/$name.tar.gz" "$archive"
  fi
  actual=$(sha256 "$archive")
  if [[ $actual != "$expected" ]]; then
    rm -f "$archive"
    fail "$name.tar.gz has the checksum $actual instead of $expected"
  fi
  tar -xzf "$archive" -C "$RUNNER_TEMP"
  echo "$RUNNER_TEMP/$name/selvedge"
}

version=${SELVEDGE_VERSION:-}
program=${SELVEDGE_PROGRAM:-}
if [[ -z $program && -z $version ]]; then
  program=$(command -v selvedge || true)
fi
if [[ -z $version && ${SELVEDGE_ACTION_REF:-} =~ ^v([0-9]+\.[0-9]+\.[0-9]+)$ ]]; then
  version=${BASH_REMATCH[1]}
fi
if [[ -z $program && -n $version ]]; then
  # Messages for GitHub are printed, so the path is the last line.
  if ! output=$(download "${version#v}"); then
    echo "$output"
    exit 2
  fi
  program=$(tail -n 1 <<< "$output")
fi
if [[ -z $program ]]; then
  root=$RUNNER_TEMP/selvedge-program
  echo "building Selvedge from source, which takes about ten minutes: the input version downloads a release"
  cargo install --locked --quiet --root "$root" --path "$GITHUB_ACTION_PATH/../crates/selvedge"
  program=$root/bin/selvedge
fi
"$program" --version
echo "program=$program" >> "$GITHUB_OUTPUT"
