"""Talks to `wavecrew mcp` with the Python client: lists the tools, runs a table, prints what it saw as JSON."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters, stdio_client


async def main(program, agent):
    server = StdioServerParameters(command=program, args=["mcp", "--agent", agent])
    seen = []

    async def progress(done, total, message):
        seen.append([done, total])

    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        tools = await session.list_tools()
        call = {
            "csv_path": "in.csv",
            "instruction": "Look at {path}",
            "output_schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        }
        done = await session.call_tool("spawn_agents_on_csv", call, progress_callback=progress)
        wrong = await session.call_tool("spawn_agents_on_csv", {"csv_path": "in.csv", "instruction": ""})
    dump = lambda value: value.model_dump(by_alias=True, mode="json")
    print(
        json.dumps(
            {
                "server": dump(hello)["serverInfo"]["name"],
                "tools": [tool.name for tool in tools.tools],
                "done": dump(done)["structuredContent"],
                "wrong": dump(wrong)["isError"],
                "progress": seen[-1],
            }
        )
    )


asyncio.run(main(*sys.argv[1:]))
