# shellcheck shell=bash disable=SC2034
# What quickstart, run-tests and .ci/run share: from a bare Debian machine to a built farcall. Every step
# does only what is missing, so that the second run is short. Sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
venv=$root/.venv
build=$root/build/release
logs=$root/build/logs
mkdir -p "$logs"

debian_build=(build-essential cmake git ninja-build pkg-config python3 python3-dev python3-venv
  libboost-math-dev libcli11-dev libfmt-dev libhwy-dev liblapacke-dev libopenblas-dev libpng-dev
  libtbb-dev libtomlplusplus-dev libxbyak-dev libzydis-dev nlohmann-json3-dev zlib1g-dev)
debian_test=(gfortran libbenchmark-dev libgmock-dev libgtest-dev libopenmpi-dev openmpi-bin)
debian_torch=(python3-torch) # 0.6 GB; from PyPI it would be more than 2 GB
debian_docs=(doxygen)
debian_sanitizers=(clang libclang-rt-dev)
debian_dev=(ccache clang-tidy shellcheck)

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# step <name> <command…>: one line with the time; on failure the end of the command's output, and its
# status. The whole output is in $log.
step() {
  local name=$1 status=0 start=$EPOCHREALTIME
  shift
  log=$logs/${name//[^A-Za-z0-9]/-}.log
  printf '%-34s ' "$name"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  local ms=$(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 1000))
  local result=ok
  ((status == 0)) || result=failed
  printf '%-6s %4d.%d s\n' "$result" $((ms / 1000)) $((ms % 1000 / 100))
  if ((status != 0)); then
    tail -n 40 "$log" | cut -c 1-400 | sed 's/^/  | /'
    printf '  the whole log: %s\n' "$log"
  fi
  return $status
}

# ---- Debian packages ------------------------------------------------------------------------------
as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

apt_install() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends)
  # The lists may be absent or too old; only then are they fetched.
  as_root "${apt[@]}" "$@" || { as_root apt-get update && as_root "${apt[@]}" "$@"; }
}

need_debian() {
  local package missing=()
  command -v dpkg-query >/dev/null || return 0 # not Debian: CMake names what it does not find
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "neither root nor sudo. As root: apt-get install ${missing[*]}"
    sudo -v
  fi
  step "Debian packages (${#missing[@]})" apt_install "${missing[@]}"
}

# ---- Python ---------------------------------------------------------------------------------------
make_venv() {
  # Debian's own Python, which is the one that python3-dev and python3-venv belong to.
  local python=/usr/bin/python3
  [[ -x $python ]] || python=python3
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    { echo "farcall needs Python 3.10 or newer; $python is older" && return 1; }
  "$python" -m venv --clear "$venv"
}

need_venv() {
  "$venv/bin/python" -m pip --version >/dev/null 2>&1 || step "Python environment" make_venv
}

pip() {
  "$venv/bin/python" -m pip --disable-pip-version-check --no-input "$@"
}

install_requirements() {
  local file args=()
  for file in "$@"; do args+=(-r "scripts/$file"); done
  pip install "${args[@]}" && for file in "$@"; do cp "scripts/$file" "$venv/$file"; done
}

# need_requirements <file in scripts/>…: a copy in the environment tells what is installed.
need_requirements() {
  local file changed=()
  for file in "$@"; do cmp -s "scripts/$file" "$venv/$file" || changed+=("$file"); done
  ((${#changed[@]} == 0)) || step "Python packages" install_requirements "${changed[@]}"
}

# ---- farcall --------------------------------------------------------------------------------------
# need_configured <preset> <cmake argument…>
need_configured() {
  local preset=$1 stamp=$root/build/$1/configured
  shift
  [[ -f $stamp && $(<"$stamp") == "$*" ]] && return
  step "Configure ($preset)" cmake --preset "$preset" "$@"
  printf '%s' "$*" >"$stamp"
}

# need_built <preset>
need_built() {
  step "Build ($1)" cmake --build --preset "$1"
}

install_package() {
  # The wheel is made from the tree that is built already.
  pip install --no-deps --no-build-isolation --force-reinstall \
    --config-settings=build-dir="$build" "${@/#-D/--config-settings=cmake.define.}" .
}

# need_package <cmake argument…>: the arguments that the tree was configured with.
need_package() {
  local stamp=$venv/farcall.stamp
  if [[ -f $stamp && -z $(find CMakeLists.txt pyproject.toml cmake include src python \
    "$build/configured" -newer "$stamp" -not -name '*.pyc' -not -name __pycache__ -print -quit) ]]; then
    return
  fi
  touch "$stamp.new" # the time before: a file that changes meanwhile is newer
  step "Install into .venv" install_package "$@"
  mv "$stamp.new" "$stamp"
}

# need_farcall <cmake argument…>: one build tree serves the C++ tests, the examples and the package.
need_farcall() {
  local options=(-DFARCALL_PYTHON=ON -DFARCALL_EXAMPLES=ON "-DPython_EXECUTABLE=$venv/bin/python"
    "$@")
  need_configured release "${options[@]}"
  need_built release
  need_package "${options[@]}"
}
