#!/usr/bin/env bash
# Runs every libFuzzer target of a build for some seconds: tools/fuzz.sh build-fuzz 60
# Seeds come from tests/fuzz/corpus/<target>/; new inputs go to <build>/corpus/<target>/, and one
# that fails to <build>/findings/.
set -euo pipefail

build=$1
seconds=$2
mkdir -p "$build/findings"
failed=()
ran=0
for program in "$build"/*_fuzz; do
  [[ -x $program ]] || continue
  name=$(basename "$program")
  mkdir -p "$build/corpus/$name"
  seeds=()
  [[ -d tests/fuzz/corpus/$name ]] && seeds=("tests/fuzz/corpus/$name")
  echo "== $name: $seconds s"
  ran=$((ran + 1))
  UBSAN_OPTIONS=print_stacktrace=1 "$program" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$name-" "$build/corpus/$name" "${seeds[@]}" \
    >"$build/fuzz-$name.log" 2>&1 || failed+=("$name")
  grep -E 'stat::(number_of_executed_units|peak_rss_mb)|^Done' "$build/fuzz-$name.log" || true
done
if [[ $ran == 0 ]]; then
  echo "no fuzz targets in $build" >&2
  exit 1
fi
for name in "${failed[@]}"; do
  echo "== $name failed" >&2
  grep -n -E 'ERROR|SUMMARY|runtime error|Test unit written' "$build/fuzz-$name.log" >&2 || true
done
echo "$((ran - ${#failed[@]})) passed, ${#failed[@]} failed"
[[ ${#failed[@]} == 0 ]]
