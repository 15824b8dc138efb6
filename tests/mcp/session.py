"""The real `liza mcp`, driven by the client of the official SDK."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import TextContent, TextResourceContents

from tests.cli.run import LIZA, environment


class Session:
    """One connection."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool."""
        is_error, text = await self.ask(tool, **arguments)
        assert not is_error, text
        answer = json.loads(text)
        assert isinstance(answer, dict)
        return answer

    async def ask(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Whether a tool failed, and the text that the agent reads."""
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert isinstance(content, TextContent)
        return bool(result.is_error), content.text

    async def read(self, uri: str) -> str:
        (content,) = (await self.client.read_resource(uri)).contents
        assert isinstance(content, TextResourceContents)
        return content.text


def talk(folder: Path, say: Callable[[Session], Awaitable[None]], **env: str) -> None:
    """Start the server in a folder, and end it afterwards."""

    async def run() -> None:
        server = StdioServerParameters(command=LIZA, args=["mcp"], cwd=folder, env=environment(folder, **env))
        async with Client(stdio_client(server)) as client:
            await say(Session(client))

    asyncio.run(asyncio.wait_for(run(), 60))
