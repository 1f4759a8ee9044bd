"""The server as the protocol's official client for Python sees it. Arguments: the program, and a project whose agent
writes the file `out`, or waits if its task says so. Ends with an exception if an answer is not as it must be."""

import asyncio
import json
import os
import subprocess
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

TOOLS = {"verify", "digest", "show", "explain", "run", "submit", "watch", "review", "restore"}


async def call(session, tool, arguments, is_error=False, **more):
    result = await session.call_tool(tool, arguments, **more)
    text = "\n".join(part.text for part in result.content)
    assert result.is_error == is_error, f"{tool}: {text}"
    return text


def expect(text, part):
    assert part in text, f"`{part}` is missing: {text}"


async def talk(session, program):
    server = await session.initialize()
    assert server.server_info.name == "selvedge", server
    tools = (await session.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS, tools
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)

    expect(await call(session, "verify", {}), "out")
    reported = []

    async def on_progress(progress, total, message):
        reported.append(message)

    task = {"task": "Write it."}
    expect(await call(session, "run", task, progress_callback=on_progress), "verified")
    assert reported, "no progress was reported"
    expect(await call(session, "verify", {}), "verified")
    expect(await call(session, "explain", {}), "verified")
    expect(await call(session, "show", {}), "Write it.")

    templates = (await session.list_resource_templates()).resource_templates
    assert {template.name for template in templates} == {"report", "digest"}, templates
    resources = (await session.list_resources()).resources
    report = next(it for it in resources if "/report/" in str(it.uri))
    contents = (await session.read_resource(report.uri)).contents
    assert json.loads(contents[0].text)["status"] == "pass", contents

    review = {"run": "last", "decision": "accept", "attempt": 1}
    expect(await call(session, "review", review, is_error=True), "not awaiting review")
    expect(await call(session, "restore", {"original": True}), "undo:")
    for tool, arguments in [("submit", task), ("watch", {})]:
        expect(await call(session, tool, arguments, is_error=True), "hub")

    waiting = asyncio.create_task(
        session.call_tool("run", {"task": "Wait."}, progress_callback=on_progress)
    )
    while not any("Wait." in line for line in runs(program)):
        await asyncio.sleep(0.1)
    waiting.cancel()
    while not any("Wait." in line and "suspended" in line for line in runs(program)):
        await asyncio.sleep(0.1)


def runs(program):
    listed = subprocess.run([program, "list"], capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


async def main():
    program, directory = sys.argv[1:]
    os.chdir(directory)
    server = StdioServerParameters(
        command=program, args=["mcp"], cwd=directory, env=dict(os.environ)
    )
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            await talk(session, program)


asyncio.run(asyncio.wait_for(main(), 120))
print("every answer was as it must be")
