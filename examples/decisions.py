# Prints every launch as it happens, with its price. docs/guides/subscribe.md has the steps.
import asyncio
import os
import signal
import ssl

import grpc
import nats

Decision = grpc.protos("dovetail/v1/decision.proto").Decision


async def on_decision(message):
    decision = Decision.FromString(message.data)
    print(decision.summary, decision.price_micros_per_hour / 1e6, flush=True)


async def main():
    authority = os.environ.get("NATS_CA")
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stopped.set)
    connection = await nats.connect(
        os.environ.get("NATS_URL", "nats://127.0.0.1:4222"),
        # The reader's seed, if NATS asks for users.
        nkeys_seed=os.environ.get("NATS_CREDENTIALS") or None,
        # The authority of NATS' certificate, if that is not one of the system's.
        tls=ssl.create_default_context(cafile=authority) if authority else None,
    )
    cluster = os.environ.get("CLUSTER_NAME", "lab")
    await connection.subscribe(f"dovetail.{cluster}.decision.v1.launch.>", cb=on_decision)
    await stopped.wait()
    await connection.close()


asyncio.run(main())
