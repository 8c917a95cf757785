"""The server of the Model Context Protocol: on standard input and output, or over HTTP.

Over HTTP each request has an access token of a user; a local program has one in its environment.
Tools that the token's scopes do not allow are not listed, and the API refuses them too.
"""

import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from anyio.to_thread import run_sync
from django.conf import settings
from django.db import connections
from mcp.server.auth.provider import AccessToken as SentToken
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import Tool, ToolAnnotations
from pydantic import AnyHttpUrl

from extras.agents import tools
from studies.models.studies import AccessToken
from studies.services.accounts.credentials import find_token
from studies.version import version

SKILL = Path(__file__).parent / "SKILL.md"
PATH = "/mcp"
P = ParamSpec("P")
T = TypeVar("T")


def instructions() -> str:
    """The decision path of SKILL.md, without its header."""
    return SKILL.read_text("utf-8").split("---", 2)[2].strip()


def in_thread(function: Callable[P, T]) -> Callable[P, T]:
    """The function for a thread of the server, which keeps no connection: few agents ask often."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        finally:
            connections.close_all()

    return run


valid_token = in_thread(find_token)


class SentTokens(TokenVerifier):
    """The access tokens of the API."""

    async def verify_token(self, token: str) -> SentToken | None:
        sent = await run_sync(valid_token, token)
        if sent is None:
            return None
        return SentToken(
            token=token,
            client_id=sent.public_id,
            scopes=list(sent.scopes),
            subject=str(sent.user_id),
        )


class AgentServer(MCPServer[Any]):
    """Lists only the tools that the token may use."""

    async def list_tools(self) -> list[Tool]:
        token = await run_sync(valid_token, tools.own_token())
        scopes: set[str | None] = {None, *(token.scopes if token else ())}
        return [tool for tool in await super().list_tools() if _SCOPES[tool.name] in scopes]


_SCOPES: dict[str, str | None] = {each.__name__: None for each in (*tools.FOR_ALL, *tools.LOCAL)}
_SCOPES |= {each.__name__: AccessToken.Scope.READ for each in tools.READING}
_SCOPES |= {each.__name__: AccessToken.Scope.WRITE for each in tools.WRITING}


def agent_server(*, is_local: bool) -> AgentServer:
    """The server for a program on this machine, or for programs with tokens over HTTP."""
    # It would log the words of refusals, which can contain texts of a study.
    logging.getLogger("mcp").setLevel(logging.WARNING)
    address = AnyHttpUrl(settings.PUBLIC_BASE_URL)
    server = AgentServer(
        "thirdperson",
        title="Thirdperson",
        version=version(),
        instructions=instructions(),
        website_url=settings.PUBLIC_BASE_URL,
        log_level="WARNING",
        auth=None if is_local else AuthSettings(issuer_url=address, resource_server_url=None),
        token_verifier=None if is_local else SentTokens(),
    )
    offered = (*tools.READING, *tools.WRITING, *tools.FOR_ALL, *(tools.LOCAL if is_local else ()))
    for tool in offered:
        only_reads = tool not in tools.WRITING
        hints = ToolAnnotations(read_only_hint=only_reads, destructive_hint=False)
        server.add_tool(in_thread(tool), annotations=hints, structured_output=False)
    return server


def serve_http(*, host: str, port: int) -> None:
    """Serve until the process ends. Names of hosts are checked, so that pages cannot reach it."""
    public = urlsplit(settings.PUBLIC_BASE_URL).netloc
    here = [f"{host}:{port}", f"127.0.0.1:{port}", f"localhost:{port}", public]
    agent_server(is_local=False).run(
        "streamable-http",
        host=host,
        port=port,
        streamable_http_path=PATH,
        json_response=True,
        # No sessions: each request is checked, and any process can answer it.
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            allowed_hosts=here, allowed_origins=[settings.PUBLIC_BASE_URL]
        ),
    )
