#!/bin/sh
# Tries workers on other machines on this one: a NATS server, one host, and a run that uses it.
# Needs `nats-server` and `wavecrew` in PATH. Ends what it starts.
set -eu
for program in nats-server wavecrew; do
    command -v $program >/dev/null || { echo "error: $program is not on PATH" >&2; exit 1; }
done
example=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'kill $server $worker 2>/dev/null; wait; rm -rf "$folder"' EXIT
server= worker=

nats-server -js -a 127.0.0.1 -p 4333 -sd "$folder/nats" >"$folder/nats.log" 2>&1 &
server=$!
until grep -q "Server is ready" "$folder/nats.log"; do kill -0 $server; sleep 0.1; done

wavecrew worker --nats nats://127.0.0.1:4333 --name this-machine --slots 3 --state "$folder/worker" &
worker=$!
until wavecrew workers --nats nats://127.0.0.1:4333 | grep -q this-machine; do kill -0 $worker; sleep 0.1; done

cp -r "$example" "$folder/project"
cd "$folder/project"
wavecrew run tour/tasks.csv -y --agent 'command:tour/agent.sh' --nats nats://127.0.0.1:4333 --place remote
wavecrew status
wavecrew workers --nats nats://127.0.0.1:4333
