"""Requests, replies, and the functions that answer each path of the simulated Prolific."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from demo.prolific.contract import CONTRACT
from demo.prolific.faults import RequestFaults
from demo.prolific.records import Refusal
from demo.prolific.world import ProlificWorld


class Platform:
    """The data of the routes: the world, the requested faults, and the requests so far."""

    def __init__(self, world: ProlificWorld) -> None:
        self.world = world
        self.faults = RequestFaults()
        self.requests: list[str] = []


@dataclass(frozen=True)
class RoutedReply:
    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, value: Any, status: int = 200, **headers: str) -> "RoutedReply":
        extra = tuple((name.replace("_", "-"), text) for name, text in headers.items())
        return cls(status, json.dumps(value).encode(), headers=extra)


@dataclass(frozen=True)
class Query:
    """A request, read."""

    method: str
    path: str
    params: dict[str, str]
    body: Any
    ids: tuple[str, ...] = ()
    workspaces: frozenset[str] = frozenset()  # that the token can access


Route = Callable[[Platform, Query], RoutedReply]
_ROUTES: list[tuple[str, str, re.Pattern[str], Route]] = []


def route(method: str, pattern: str) -> Callable[[Route], Route]:
    """Register the function for a path. A path of the API needs its entry in the contract."""
    if not pattern.startswith("/") and (method, pattern) not in CONTRACT:
        raise ValueError(f"the contract does not know {method} {pattern}")
    # The ids of filters are words.
    an_id = r"([\w-]+)" if pattern.startswith("filters/") else "([0-9a-f]{24})"
    # Requests to the API are answered with and without a slash at the end.
    path = pattern if pattern.startswith("/") else f"{pattern.removesuffix('/')}/"
    expression = re.compile(f"^{path.replace('<id>', an_id)}$")

    def register(function: Route) -> Route:
        _ROUTES.append((method, pattern, expression, function))
        return function

    return register


def answer(platform: Platform, query: Query, path: str) -> RoutedReply:
    """The answer of the route for this path. Raises `Refusal`."""
    for method, pattern, expression, function in _ROUTES:
        if method == query.method and (match := expression.match(path)):
            asked = replace(query, path=path, ids=match.groups())
            if call := CONTRACT.get((method, pattern)):
                strict = platform.world.behaviour.strict
                call.check(query.params, query.body, is_strict=strict)
                platform.world.check_workspace({**query.params, **query.body})
            try:
                return function(platform, asked)
            except (KeyError, TypeError, ValueError, AttributeError) as problem:
                raise Refusal(400, f"The request cannot be read: {problem!r}") from problem
    raise Refusal(404, "Not found.")


def page_of(query: Query, rows: list[Any], *, past_the_end: str = "404") -> RoutedReply:
    """A page of a list by `page` and `page_size`; there is no page after the end."""
    page, size = int(query.params.get("page", "1")), int(query.params.get("page_size", "20"))
    pages = max(1, -(-len(rows) // size))
    if page < 1 or (page > pages and past_the_end == "404"):
        raise Refusal(404, "Invalid page.")
    href = f"/api/v1/{query.path}?page={page + 1}" if page < pages else None
    return _listed(rows[(page - 1) * size : page * size], len(rows), href)


def slice_of(query: Query, rows: list[Any]) -> RoutedReply:
    """A part of a list by `limit` and `offset`, as hooks and workspaces are listed."""
    limit, offset = int(query.params.get("limit", "20")), int(query.params.get("offset", "0"))
    end = offset + limit
    href = f"/api/v1/{query.path}?limit={limit}&offset={end}" if end < len(rows) else None
    return _listed(rows[offset:end], len(rows), href)


def _listed(rows: list[Any], count: int, href: str | None) -> RoutedReply:
    links = {"next": {"href": href, "title": "Next"}}
    return RoutedReply.of({"results": rows, "_links": links, "meta": {"count": count}})
