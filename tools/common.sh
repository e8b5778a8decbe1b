# Sourced by the scripts of this folder: finds the project, installs what is missing, builds.
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian packages by what needs them.
build_packages=(g++ cmake ninja-build pkg-config libsimgrid-dev nlohmann-json3-dev libcli11-dev
  libfmt-dev)
test_packages=(catch2 librapidcheck-dev libvalijson-dev python3)
dev_packages=(clang-format-14 clang-tidy-14 ccache)

say() { echo "tools: $*" >&2; }

# install_missing PACKAGE...: installs those that are not there; needs root or sudo only then.
install_missing() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
      missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "installing ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      say "not root and no sudo: ask an administrator to install: ${missing[*]}"
      exit 1
    fi
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends "${missing[@]}" >&2
}

# build_target PRESET TARGET...: configures when needed, then builds; quiet unless something fails.
# With tests=ON the tests are configured too; once they are, they stay.
build_target() {
  local preset=$1 folder
  shift
  folder=$project/build
  [ "$preset" = release ] || folder=$project/build-$preset
  local log=$folder/tools.log
  mkdir -p "$folder"
  if ! [ -f "$folder/build.ninja" ] ||
    { [ "${tests:-OFF}" = ON ] && grep -q '^SHARDSIM_TESTS:BOOL=OFF' "$folder/CMakeCache.txt"; }; then
    say "configuring ($preset)"
    (cd "$project" && cmake --preset "$preset" -DSHARDSIM_TESTS="${tests:-OFF}") >"$log" 2>&1 ||
      { cat "$log" >&2; exit 1; }
  fi
  if ! [ -x "$folder/shardsim" ] ||
    ninja -C "$folder" -n "$@" 2>/dev/null | grep -qE 'Building|Linking'; then
    say "building $* ($preset); the first time takes minutes"
  fi
  ninja -C "$folder" "$@" >"$log" 2>&1 || { tail -n 60 "$log" >&2; exit 1; }
}
