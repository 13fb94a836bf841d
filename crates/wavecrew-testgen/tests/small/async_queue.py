import asyncio


async def drain(jobs, workers=2):
    """Runs jobs (numbers) with some workers and gives their squares in order."""
    if workers < 1:
        raise ValueError("no worker")
    queue = asyncio.Queue()
    for index, job in enumerate(jobs):
        queue.put_nowait((index, job))
    results = [None] * len(jobs)

    async def work():
        while not queue.empty():
            index, job = queue.get_nowait()
            results[index] = job * job
            await asyncio.sleep(0)

    await asyncio.gather(*(work() for _ in range(workers)))
    return results


async def first_even(numbers):
    async def each():
        for number in numbers:
            yield number

    async for number in each():
        if number % 2 == 0:
            return number
    return None
