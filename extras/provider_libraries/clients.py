"""What the backends share that use a provider's own library.

The library writes the request and reads the answer. Connections, time-outs, the check of addresses,
retries and the ledger are ours: a retry of the library would send, and pay for, requests that are
not in the ledger.
"""

import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from judging.backends.backend import JudgeSettings
from judging.backends.completions import stated_status, status_fault, without_keys
from judging.backends.error_messages import declines_content, error_body
from judging.backends.openai import MAY_ADJUST, retry_after
from judging.backends.parameters import Adjustments
from judging.engine.interface import (
    AdjustedRequest,
    BackendFault,
    JudgeQuestion,
    Misconfigured,
    Parameters,
    Reply,
)
from judging.errors import BadJudge

if TYPE_CHECKING:
    import httpx2

    from judging.engine.messages import Message

REQUIREMENTS = "requirements-providers.txt"


class ProviderBackend:
    """What a backend with a provider's client knows of the parameters that are accepted."""

    def __init__(self, wanted: Parameters, client: Any) -> None:
        self._client = client
        self._adjustments = Adjustments(wanted)

    def parameters(self) -> Parameters:
        return self._adjustments.current


def require(package: str, module: str, *, judge: str) -> None:
    """Raise `BadJudge` if a provider's library is not installed."""
    try:
        is_there = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        raise BadJudge(
            f"Judge “{judge}” needs the Python package {package}, which is not installed here. "
            f"Install it for the web server and the workers with: pip install -r {REQUIREMENTS}"
        )


def http_client(
    judge: JudgeSettings, *, key: str, secret: Mapping[str, str]
) -> "httpx2.AsyncClient":
    """A client whose requests go through our connections, to this address and no other.

    They get the extra query and headers of the judge; `secret` are the latter with their values.
    """
    import httpx2

    from judging.backends.connections import client_for

    extra = judge.extra_fields
    given = {**extra.headers, **secret}
    client = client_for(judge.base_url, timeout=judge.timeout_seconds, link_local=judge.link_local)
    server = httpx2.URL(judge.base_url)
    secrets = [key, *secret.values()]

    class Transport(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            url = request.url
            if (url.scheme, url.host, url.port) != (server.scheme, server.host, server.port):
                raise Misconfigured(
                    "The library of the provider asks another server than the judge's."
                )
            # Without this header a server may compress its response.
            headers = {**request.headers, "accept-encoding": "identity"}
            for name in given:
                headers.pop(name.lower(), None)
            response = await client.request(
                request.method,
                url.copy_merge_params(extra.query) if extra.query else url,
                headers={**headers, **given},
                content=await request.aread(),
            )
            return httpx2.Response(
                stated_status(response.status_code, response.content),
                headers=[(n, v) for n, v in response.headers.items() if n != "content-length"],
                content=without_keys(response.content, secrets),
                request=request,
            )

        async def aclose(self) -> None:
            await client.aclose()

    return httpx2.AsyncClient(transport=Transport(), timeout=judge.timeout_seconds)


def refusal_or_fault(
    response: "httpx2.Response",
    *,
    sent: Parameters,
    adjustments: Adjustments,
    wait: float | None = None,
    request_id: str = "",
) -> Reply:
    """The reply to a request that the provider's filter refused.

    Raises the `BackendFault` of any other error: `AdjustedRequest` if the next request leaves out
    what was refused. `wait`: seconds to wait that the body of the error names.
    """
    status, content = response.status_code, response.content
    fault = status_fault(status, content, wait, address_hint="")
    if fault.retry_after is None:
        fault.retry_after = retry_after(response.headers)
    body = error_body(content)
    if status in MAY_ADJUST and adjustments.learn(body, sent):
        raise AdjustedRequest(str(fault), status=status)
    if 400 <= status < 500 and declines_content(body):
        return Reply(text=str(fault), refused=True, request_id=request_id[:200], status=status)
    raise fault


def cause(error: BaseException) -> BackendFault | None:
    """The fault of our connections that a library has wrapped into an error of its own."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, BackendFault):
            return link
        link = link.__cause__ or link.__context__
    return None


def system_and_turns(question: JudgeQuestion) -> "tuple[str, list[Message]]":
    """The text of the system messages, which providers take apart, and the other messages."""
    system = [message.text for message in question.asking if message.role == "system"]
    return "\n\n".join(system), [m for m in question.asking if m.role != "system"]


def count(value: Any) -> int:
    """A reported number of tokens; 0 if it is none."""
    return value if isinstance(value, int) and 0 <= value <= 10**9 else 0
