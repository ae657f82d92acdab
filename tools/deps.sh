#!/usr/bin/env bash
# Installs the Debian packages that are missing; at once and without a network when none is.
#   tools/deps.sh [--check] build|test|fuzz|model
# build: what compiles and runs the node; test: that and what `make test` needs; fuzz: that of build
# and clang; model: what `make model` needs.
# --check installs nothing and fails when something is missing.
set -euo pipefail

# package, or package:command where any program of that name will do
build_packages=(
  g++:g++ cmake:cmake make:make pkg-config:pkg-config python3:/usr/bin/python3
  libuv1-dev libfmt-dev libspdlog-dev libboost-dev zlib1g-dev doctest-dev libcxxopts-dev
  nlohmann-json3-dev libmimalloc-dev libpcre2-dev libdeflate-dev libssl-dev libcpp-httplib-dev
  libprotobuf-dev protobuf-compiler:protoc libraft-dev
)
test_packages=(
  python3-pika python3-amqp python3-kombu python3-celery nodejs:node npm:npm amqp-tools
  clang-format:clang-format
)
fuzz_packages=(clang:clang++ libclang-rt-14-dev)
model_packages=(spin gcc:gcc python3:/usr/bin/python3)

usage() {
  echo "usage: tools/deps.sh [--check] build|test|fuzz|model" >&2
  exit 2
}

installed() {
  local package=${1%%:*} command=
  [[ $1 == *:* ]] && command=${1#*:}
  if [[ -n $command ]]; then
    command -v "$command" >/dev/null
  else
    local status
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null)
    [[ $status == installed ]]
  fi
}

# Runs a command as root.
as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif [[ -t 0 ]]; then
    sudo "$@"
  else
    sudo --non-interactive "$@"  # nobody is there to type a password
  fi
}

check_only=
if [[ ${1:-} == --check ]]; then
  check_only=1
  shift
fi
case ${1:-} in
  build) wanted=("${build_packages[@]}") ;;
  test) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
  fuzz) wanted=("${build_packages[@]}" "${fuzz_packages[@]}") ;;
  model) wanted=("${model_packages[@]}") ;;
  *) usage ;;
esac

missing=()
for entry in "${wanted[@]}"; do
  installed "$entry" || missing+=("${entry%%:*}")
done
[[ ${#missing[@]} == 0 ]] && exit 0

command_line="apt-get install ${missing[*]}"
if [[ -n $check_only ]]; then
  echo "missing: ${missing[*]}" >&2
  echo "'make deps' installs them, or as root: $command_line" >&2
  exit 1
fi
if ! command -v apt-get >/dev/null; then
  echo "missing: ${missing[*]} (Debian names); this system has no apt-get to install them" >&2
  exit 1
fi
if [[ $(id -u) != 0 ]] && ! command -v sudo >/dev/null; then
  echo "missing: ${missing[*]}; neither root nor sudo. Run as root: $command_line" >&2
  exit 1
fi

echo "installing: ${missing[*]}"
options=(-q -o DPkg::Lock::Timeout=300)
if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" update ||
  ! as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get "${options[@]}" install --yes --no-install-recommends "${missing[@]}"; then
  echo "could not install: ${missing[*]}. Run as root: $command_line" >&2
  exit 1
fi
