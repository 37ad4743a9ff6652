#!/bin/sh
# Make the home at the first start, add the token of the pods, and serve. INSTANCE names the agent.
# AGENT_HOME (/data/home), TOKEN_FILE (/run/secrets/memory/token), AUDIENCE (job) and ADDRESS (0.0.0.0:8080) may be set.
set -eu
export AGENT_HOME="${AGENT_HOME:-/data/home}"
memory init "$AGENT_HOME" --name "${INSTANCE:-agent}"
memory model build || echo "no embedding model: search works on words alone" >&2
memory token add pods --scope read --scope write --audience "${AUDIENCE:-job}" --token-file "${TOKEN_FILE:-/run/secrets/memory/token}"
exec memory serve --http "${ADDRESS:-0.0.0.0:8080}" --allow-host "${INSTANCE:-agent}-memory" --idle-minutes 0
