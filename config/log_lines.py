"""Lines of the log as JSON, each with the request or the task that wrote it."""

import inspect
import json
import logging
import re
import secrets
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse

HEADER = "X-Request-ID"
_context: ContextVar[dict[str, Any]] = ContextVar("log_context", default={})  # noqa: B039
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_GIVEN = re.compile(r"[\w.-]{8,64}")


class JsonLines(logging.Formatter):
    """One object a line: time, level, logger, message, and ids of the request or task."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
            **_context.get(),
        }
        # Django logs the status of a response after all middleware has run.
        if own := getattr(getattr(record, "request", None), "log_id", ""):
            line["request"] = own
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class TextLines(logging.Formatter):
    """One line a message: typed text in it cannot start a line or move the cursor."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = _CONTROL.sub(lambda match: repr(match[0])[1:-1], record.message)
        return super().formatMessage(record)


def request_ids(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Give each request an id, or keep a proxy's, and send it with the response."""

    def middleware(request: HttpRequest) -> HttpResponse:
        sent = request.headers.get(HEADER, "")
        own = sent if _GIVEN.fullmatch(sent) else secrets.token_hex(8)
        request.log_id = own  # type: ignore[attr-defined]
        token = _context.set({"request": own})
        try:
            response = get_response(request)
        finally:
            _context.reset(token)
        response.headers[HEADER] = own
        return response

    return middleware


def task_ids(task: Any, args: Any, kwargs: Any) -> dict[str, int]:
    """The ids among a task's arguments, such as run_id, and no other arguments."""
    try:
        arguments = (
            inspect.signature(task.run).bind_partial(*(args or ()), **(kwargs or {})).arguments
        )
    except TypeError:
        return {}
    return {
        name.removesuffix("_id"): value
        for name, value in arguments.items()
        if name.endswith("_id") and isinstance(value, int)
    }


def begin_task(task_id: str, task: Any, args: Any, kwargs: Any, **_: Any) -> None:
    _context.set({"task": task.name, "task_id": task_id, **task_ids(task, args, kwargs)})


def end_task(**_: Any) -> None:
    _context.set({})
