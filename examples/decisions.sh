#!/bin/sh
# Prints every launch as JSON, as it happens: sh examples/decisions.sh. `buf` reads the .proto files.
exec nats --server "${NATS_URL:-nats://127.0.0.1:4222}" ${NATS_CREDENTIALS:+--nkey "$NATS_CREDENTIALS"} \
  ${NATS_CA:+--tlsca "$NATS_CA"} subscribe --raw "dovetail.${CLUSTER_NAME:-lab}.decision.v1.launch.>" \
  --translate 'buf convert proto --type dovetail.v1.Decision --from -#format=binpb'
