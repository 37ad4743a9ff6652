#!/bin/sh
# A host of a fleet in a container: host.sh join | host | worker | serve | leave. All of them share the volume /data.
# ADDRESS is where other hosts reach this one. HOMES (/data/homes), HOST_NAME (the host's name) and PORT (8080) may be set.
set -eu
homes="${HOMES:-/data/homes}"
name="${HOST_NAME:-$(hostname)}"
case "$1" in
join)
  memory fleet join "$homes" --name "$name" --address "$ADDRESS"
  memory fleet drain "$name" --undo || true # a host that left before takes homes again. A new one is not known yet
  memory model build || echo "no embedding model: search works on words alone" >&2
  ;;
host) exec memory fleet host "$homes" ;;
worker) exec memory fleet worker "$homes" ;;
serve) exec memory serve --http "0.0.0.0:${PORT:-8080}" --fleet "$homes" --allow-host "${SERVICE:-memory}" ;;
leave) # hand every home over before the machine stops
  memory fleet drain "$name"
  until memory fleet status --json | python3 -c "
import json, sys
rows = json.load(sys.stdin)['hosts']
sys.exit(any(row['homes'] for row in rows if row['name'] == sys.argv[1]))" "$name"; do sleep 1; done
  ;;
*)
  echo "$0: $1 is none of join, host, worker, serve and leave" >&2
  exit 2
  ;;
esac
