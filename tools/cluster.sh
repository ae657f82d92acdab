#!/usr/bin/env bash
# Three nodes on this machine, for a person to play with: tools/cluster.sh PROGRAM [DIRECTORY]
# They listen on 127.0.1.1, 127.0.1.2 and 127.0.1.3 with the usual ports, and keep what they have in
# DIRECTORY (./ringtail-cluster). Those that run already are left alone. Ctrl-C stops those that
# this run has started, one after the other.
set -euo pipefail

program=$1
directory=${2:-ringtail-cluster}
mkdir -p "$directory"
cookie=$directory/cookie
if [[ ! -f $cookie ]]; then
  (umask 077 && head -c 32 /dev/urandom | base64 >"$cookie")
fi
for i in 1 2 3; do
  echo "cluster_formation.classic_config.nodes.$i = ringtail@127.0.1.$i"
done >"$directory/cluster.conf"

pids=() log_sizes=()  # by node

# Stops what this run has started, and ends with that exit code.
stop() {
  trap '' INT TERM
  for i in "${!pids[@]}"; do
    # A node that has died meanwhile is no job of this shell any more, and its id may be another's.
    jobs -rp | grep -x "${pids[$i]}" >/dev/null || continue
    kill -TERM "${pids[$i]}" 2>/dev/null || true
    wait "${pids[$i]}" 2>/dev/null || true
    echo "node $i has stopped"
  done
  exit "$1"
}
trap 'stop 0' INT TERM

# A node holds this lock as long as it runs.
runs() {
  [[ -e $directory/node$1/lock ]] && ! flock -n "$directory/node$1/lock" true
}

start() {
  local log=$directory/node$1.log
  touch "$log"
  log_sizes[$1]=$(stat -c %s "$log")
  # In a group of its own: Ctrl-C is for this script, which stops them in order.
  setsid "$program" --node-name "ringtail@127.0.1.$1" --bind "127.0.1.$1" \
    --data-dir "$directory/node$1" --cookie-file "$cookie" --config "$directory/cluster.conf" \
    --shards 1 >>"$log" 2>&1 &
  pids[$1]=$!
}

# What the node's log says since this run has started it.
new_log() {
  tail -c "+$((log_sizes[$1] + 1))" "$directory/node$1.log"
}

await_ready() {
  for ((tries = 0; tries < 300; ++tries)); do
    if new_log "$1" | grep -F '[node] ready' >/dev/null; then return 0; fi
    if ! kill -0 "${pids[$1]}" 2>/dev/null; then break; fi
    read -r -t 0.1 _ <> <(:) || true
  done
  echo "node $1 has not come up; $directory/node$1.log ends with:" >&2
  new_log "$1" | tail -n 5 >&2
  return 1
}

ran=()
for i in 1 2 3; do
  if runs "$i"; then ran+=("$i"); else start "$i"; fi
done
if ((${#pids[@]} == 0)); then
  echo "all three nodes of $directory run already; nothing was started"
  exit 0
fi
for i in "${!pids[@]}"; do
  await_ready "$i" || stop 1
done
if ((${#ran[@]} > 0)); then echo "ran already, and left alone: node ${ran[*]}"; fi
for i in "${!pids[@]}"; do echo "started: node $i, process ${pids[$i]}"; done

cat <<TEXT
Three nodes are one cluster:
  AMQP  amqp://guest:guest@127.0.1.1:5672, and the same on 127.0.1.2 and 127.0.1.3
  HTTP  http://guest:guest@127.0.1.1:15672, likewise
  logs  $directory/node1.log, node2.log, node3.log
Try:   $(dirname "$program")/ringtailctl --url http://guest:guest@127.0.1.2:15672 cluster_status
       kill -9 one of them; "make cluster" in another terminal brings it back
Ctrl-C stops what this run has started.
TEXT
wait
echo "all nodes that this run has started have ended"
