#!/usr/bin/env bash
# Three nodes on this machine, for a person to play with: tools/cluster.sh PROGRAM [DIRECTORY]
# They listen on 127.0.1.1, 127.0.1.2 and 127.0.1.3 with the usual ports, and keep what they have in
# DIRECTORY (./ringtail-cluster). Ctrl-C stops them, one after the other.
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

pids=()
stop() {
  trap - INT TERM
  for pid in "${pids[@]}"; do
    kill -TERM "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do wait "$pid" || true; done
  done
  echo "stopped"
  exit 0
}
trap stop INT TERM

for i in 1 2 3; do
  # In a group of its own: Ctrl-C is for this script, which stops them in order.
  setsid "$program" --node-name "ringtail@127.0.1.$i" --bind "127.0.1.$i" \
    --data-dir "$directory/node$i" --cookie-file "$cookie" --config "$directory/cluster.conf" \
    --shards 1 >"$directory/node$i.log" 2>&1 &
  pids+=("$!")
done

for i in 1 2 3; do
  for ((tries = 0; ; ++tries)); do
    grep -q '\[node\] ready' "$directory/node$i.log" && break
    if ! kill -0 "${pids[i - 1]}" 2>/dev/null || ((tries == 300)); then
      echo "node $i has not come up:" >&2
      tail -n 5 "$directory/node$i.log" >&2
      stop
    fi
    read -r -t 0.1 _ <> <(:) || true
  done
done

cat <<TEXT
Three nodes are one cluster:
  AMQP  amqp://guest:guest@127.0.1.1:5672, and the same on 127.0.1.2 and 127.0.1.3
  HTTP  http://guest:guest@127.0.1.1:15672, likewise
  logs  $directory/node1.log, node2.log, node3.log
  ids   ${pids[*]} (kill -9 one and start it again with: make cluster)
Try:   build/ringtailctl --url http://guest:guest@127.0.1.2:15672 cluster_status
Ctrl-C stops them.
TEXT
wait
stop
