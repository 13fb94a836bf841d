import asyncio


async def gather_limited(values, limit=2):
    """Doubles values, at most `limit` of them."""
    if limit < 0:
        raise ValueError("negative limit")
    results = []
    for value in values[:limit]:
        await asyncio.sleep(0)
        results.append(value * 2)
    return results
