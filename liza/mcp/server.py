"""The server: MCP over standard input and output, one client, until it disconnects."""

import json
import os
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from anyio.to_thread import run_sync
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from liza import __version__
from liza.cli import envelope
from liza.errors import LizaError
from liza.mcp.arguments import invalid
from liza.mcp.resources import PAGES
from liza.mcp.tools import TOOLS, Tool, caller_of
from liza.text import printable, value_text, with_meant

_INSTRUCTIONS = (
    "liza is the circuit breaker of this team of agents. Report problems as you meet them, and ask what was decided "
    "before. When work is halted, stop and wait: only a person can end a halt."
)
Context = ServerRequestContext[dict[str, Any], Any]


def serve(root: str | None) -> None:
    """Serve until the client closes its end, of either stream."""
    try:
        anyio.run(_serve, root)
    except* BrokenPipeError:
        pass  # it went away before it read an answer


async def _serve(root: str | None) -> None:
    handlers = _Handlers(root)
    server = Server(
        "liza",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
    )
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class _Handlers:
    """What the server is asked. Tools run one at a time, in a thread: they wait for the lock of the blackboard."""

    def __init__(self, root: str | None) -> None:
        self._root = root
        self._one = anyio.CapacityLimiter(1)

    async def list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(each) for each in TOOLS])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = next((each for each in TOOLS if each.name == params.name), None)
        if tool is None:
            known = [each.name for each in TOOLS]
            text = with_meant(f"unknown tool {value_text(params.name)}", params.name, known)
            raise MCPError(types.INVALID_PARAMS, f"{text}; there are: {', '.join(known)}")
        given = params.arguments or {}
        text, is_error = await run_sync(partial(_run, tool, given, self._root, _client(context)), limiter=self._one)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    async def list_resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        listed = [
            types.Resource(uri=each.uri, name=each.name, description=each.description, mime_type=each.mime_type)
            for each in PAGES
        ]
        return types.ListResourcesResult(resources=listed)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        page = next((each for each in PAGES if each.uri == uri), None)
        if page is None:
            known = ", ".join(each.uri for each in PAGES)
            raise MCPError(types.INVALID_PARAMS, f"unknown resource {value_text(uri)}; there are: {known}")
        try:
            text = await run_sync(lambda: page.read(caller_of(self._root, "").board), limiter=self._one)
        except (LizaError, OSError) as error:
            raise MCPError(types.INTERNAL_ERROR, _error_text(error)) from None
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, text=text, mime_type=page.mime_type)]
        )


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.takes.model_json_schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.only_reads, destructive_hint=False, open_world_hint=False
        ),
    )


def _client(context: Context) -> str:
    """The name that the client gave itself."""
    params = context.session.client_params
    return params.client_info.name if params is not None else ""


def _run(tool: Tool, given: dict[str, Any], root: str | None, client: str) -> tuple[str, bool]:
    """The answer to a call as the agent reads it, and whether it is an error."""
    try:
        answer = tool.run(caller_of(root, client), tool.takes.model_validate(given))
    except ValidationError as error:
        return _error_text(invalid(tool.name, error)), True
    except (LizaError, OSError) as error:
        return _error_text(error), True
    return json.dumps(envelope.plain(answer), ensure_ascii=False, default=str), False


def _error_text(error: LizaError | OSError) -> str:
    if isinstance(error, LizaError):
        return printable(f"{error}{f'; hint: {error.hint}' if error.hint else ''}")[:2_000]
    return printable(f"{os.strerror(error.errno) if error.errno else type(error).__name__}; see: liza doctor")
