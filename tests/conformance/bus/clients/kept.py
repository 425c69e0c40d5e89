# Prints the subject of each kept decision: with a consumer that pulls, and with one that pushes in order.
import asyncio
import os

import nats
from nats.js.api import ConsumerConfig, DeliverPolicy


async def main():
    failures = []

    async def on_error(error):
        failures.append(error)

    connection = await nats.connect(
        os.environ["NATS_URL"],
        nkeys_seed=os.environ["NATS_CREDENTIALS"],
        inbox_prefix=os.environ["INBOX"].encode(),
        error_cb=on_error,
    )
    stream, count = os.environ["STREAM"], int(os.environ["COUNT"])
    js = connection.jetstream()
    config = ConsumerConfig(deliver_policy=DeliverPolicy.ALL)
    for subject in ("", os.environ["FILTER"]):
        pulled = await js.pull_subscribe(subject, stream=stream, config=config)
        for message in await pulled.fetch(count, timeout=60):
            await message.ack()
            print("pull", message.subject, flush=True)
        await pulled.unsubscribe()
    pushed = await js.subscribe(os.environ["FILTER"], stream=stream, ordered_consumer=True)
    for _ in range(count):
        print("push", (await pushed.next_msg(timeout=60)).subject, flush=True)
    await connection.flush()
    await connection.close()
    if failures:
        raise failures[0]


asyncio.run(main())
