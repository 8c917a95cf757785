"""A provider's batches, by OpenAI's client: a few requests, none of which asks a model.

A provider processes a file within a day, for about half the price.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from extras.packs.lines import ENDPOINT
from judging.backends.completions import short, status_fault, without_keys
from judging.backends.openai import NO_KEY, Server, only
from judging.engine.interface import BackendFault, Misconfigured
from judging.errors import BadJudge

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI
    from openai.types import Batch

_SECONDS = 600.0  # for a file of `MAX_BYTES`
_MOST_BYTES = 2_000_000_000  # of a file of replies, with log-probabilities
_LISTED = 100  # batches per page

_FINAL = frozenset({400, 401, 403, 404, 405, 413, 422})
T = TypeVar("T")


class BatchError(Exception):
    """The provider refused a request or failed; the message is a sentence.

    `is_final` if asking again would give the same result.
    """

    def __init__(self, message: str, *, is_final: bool) -> None:
        super().__init__(message)
        self.is_final = is_final


class BatchClient:
    """Submits files and fetches their results. Its calls block and raise `BatchError`.

    Nothing is sent twice, because a batch started twice is paid twice.
    """

    def __init__(self, server: Server) -> None:
        self._server = replace(server, timeout=_SECONDS)

    def submit(self, file: Path, *, metadata: dict[str, str]) -> str:
        """Upload a file and start its batch; return the provider's batch id."""

        async def submit(client: "AsyncOpenAI") -> str:
            uploaded = await client.files.create(file=file, purpose="batch")
            batch = await client.batches.create(
                input_file_id=uploaded.id,
                endpoint=ENDPOINT,
                completion_window="24h",
                metadata=metadata,
            )
            return batch.id

        return self._call(submit)

    def find(self, *, metadata: dict[str, str]) -> str:
        """The provider's id of the batch with these metadata; empty if there is none."""

        async def find(client: "AsyncOpenAI") -> str:
            async for batch in client.batches.list(limit=_LISTED):
                if metadata.items() <= (batch.metadata or {}).items():
                    return batch.id
            return ""

        return self._call(find)

    def status(self, provider_id: str) -> "Batch":
        return self._call(lambda client: client.batches.retrieve(provider_id))

    def cancel(self, provider_id: str) -> None:
        self._call(lambda client: client.batches.cancel(provider_id))

    def content(self, file_id: str) -> bytes:
        return self._call(lambda client: client.files.content(file_id)).content

    def _call(self, ask: Callable[["AsyncOpenAI"], Awaitable[T]]) -> T:
        # Imported here, because it takes a second that most pages and commands do not need.
        import openai

        try:
            return asyncio.run(self._asked(ask))
        except Misconfigured as error:
            raise BatchError(str(error), is_final=True) from error
        except (BadJudge, BackendFault) as error:
            message = f"The server cannot be reached: {error}"
            raise BatchError(message, is_final=False) from error
        except openai.APIStatusError as error:
            content = without_keys(error.response.content, self._server.secrets)
            fault: BackendFault = status_fault(error.status_code, content)
            message = f"The server does not accept a batch: {fault}"
            raise BatchError(message, is_final=error.status_code in _FINAL) from error
        except openai.APIError as error:
            message = f"The server cannot be reached: {short(error.message)}"
            raise BatchError(message, is_final=False) from error

    async def _asked(self, ask: Callable[["AsyncOpenAI"], Awaitable[T]]) -> T:
        import httpx2

        from judging.backends.connections import client_for

        server = self._server
        http = client_for(
            server.base_url, timeout=_SECONDS, link_local=server.link_local, most=_MOST_BYTES
        )
        # Some providers keep files at another address. It gets neither key nor secret header.
        http.follow_redirects = True
        own = httpx2.URL(server.base_url).origin

        async def without_secrets(request: "httpx2.Request") -> None:
            if request.url.origin != own:
                for name in ("Authorization", *server.secret):
                    request.headers.pop(name, None)

        http.event_hooks = {"request": [without_secrets]}
        async with server.client(http) as client:
            key = {"Authorization": f"Bearer {server.api_key or NO_KEY}"}
            sent = only(key | server.all_headers(), client)
            return await ask(client.with_options(default_headers=sent))
