"""What a judge sends beside the standard parameters: fields of the body, of the query, headers.

They are options of the judge, which every run records. Of a secret header only the name is.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from judging.errors import FailureReason, InvalidValue

# The last one has the names of headers whose values are stored encrypted.
EXTRA_FIELDS = ("extra_body", "extra_query", "extra_headers", "secret_headers")
EXTRA_BODY, EXTRA_QUERY, EXTRA_HEADERS, SECRET_HEADERS = EXTRA_FIELDS

_MOST_LETTERS = 20_000  # of the body as JSON
_MOST_ENTRIES, _LONGEST_VALUE = 20, 2000
# What every request says already, or what would make it another request.
_OWN_FIELDS = frozenset(
    {
        *("model", "messages", "n", "stream", "stream_options", "temperature", "top_p", "seed"),
        *("max_tokens", "max_completion_tokens", "logprobs", "top_logprobs", "response_format"),
        *("system", "output_config", "contents", "systemInstruction", "candidateCount", "topP"),
        *("maxOutputTokens", "responseMimeType", "responseSchema", "responseJsonSchema"),
        *("responseLogprobs", "input", "questions", "state"),
    }
)
_OWN_HEADERS = re.compile(
    r"authorization|host|content-.*|transfer-encoding|connection|keep-alive|proxy-.*|te|trailers?"
    r"|upgrade|expect|accept|accept-encoding|user-agent"
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_PRINTABLE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_SECRET = re.compile(
    r"(?:api|access|subscription).?key|secret|token\Z|password|credential|cookie|signature|\Akey\Z",
    re.IGNORECASE,
)

_NO_OBJECT = FailureReason(
    "no_object", '{field} must be a JSON object such as {{"top_k": 40}}: {problem}.'
)
_TOO_LONG = FailureReason("too_long", "{field} has more than {most:,} letters.")
_OWN_FIELD = FailureReason(
    "own_field", "{field}: “{value}” is set by this program. Use the judge's own settings for it."
)
_TOO_MANY = FailureReason("too_many", "{field} has more than {most} entries.")
_BAD_NAME = FailureReason("bad_name", "{field}: “{value}” cannot be the name of an entry.")
_OWN_HEADER = FailureReason(
    "own_header", "{field}: the header {value} is set by this program. A key has its own field."
)
_BAD_VALUE = FailureReason(
    "bad_value",
    "{field}: the value of {value} must be text of the characters on an English keyboard, without "
    "a space at its ends, up to {most:,} of them.",
)
_LOOKS_SECRET = FailureReason(
    "looks_secret",
    "{field}: “{value}” looks like a secret, and what is entered here is shown. Enter it as a "
    "secret header.",
)
_TWICE = FailureReason("twice", "{field}: the header {value} is among the other headers too.")


@dataclass(frozen=True, kw_only=True)
class ExtraFields:
    """The fields of a judge, by name; `secret_headers` are names."""

    body: Mapping[str, Any]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    secret_headers: tuple[str, ...]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Those among the options of a judge, which need not be `checked`."""
        headers, secret = options.get(EXTRA_HEADERS) or {}, options.get(SECRET_HEADERS) or ()
        if isinstance(headers, Mapping):
            headers = {name.lower(): value for name, value in headers.items()}
        return cls(
            body=options.get(EXTRA_BODY) or {},
            query=options.get(EXTRA_QUERY) or {},
            headers=headers,
            secret_headers=tuple(sorted({str(name).lower() for name in secret})),
        )

    @property
    def stored(self) -> dict[str, Any]:
        """The options that hold them; empty ones are left out."""
        values = (self.body, self.query, self.headers, list(self.secret_headers))
        return {name: value for name, value in zip(EXTRA_FIELDS, values, strict=True) if value}

    def check(self) -> None:
        """Raise `InvalidValue` if one of them cannot be sent, or is sent by this program."""
        _check_body(self.body)
        for field, pairs in ((EXTRA_QUERY, self.query), (EXTRA_HEADERS, self.headers)):
            _check_pairs(field, pairs)
        for name in self.query:
            if not name.isascii() or not name.isprintable() or not 0 < len(name) <= 100:
                raise InvalidValue(EXTRA_QUERY, _BAD_NAME, value=name)
        for field, names in ((EXTRA_HEADERS, self.headers), (SECRET_HEADERS, self.secret_headers)):
            for name in names:
                _check_header(field, name)
        if twice := set(self.headers).intersection(self.secret_headers):
            raise InvalidValue(SECRET_HEADERS, _TWICE, value=min(twice))
        for field, names in ((EXTRA_QUERY, self.query), (EXTRA_HEADERS, self.headers)):
            if secret := next(filter(_SECRET.search, names), None):
                raise InvalidValue(field, _LOOKS_SECRET, value=secret)


def check_secret_values(values: Mapping[str, str]) -> None:
    """Raise `InvalidValue` if a header cannot hold its value; the value is not repeated."""
    _check_pairs(SECRET_HEADERS, values)


def read_body(text: str, *, field: str = EXTRA_BODY) -> dict[str, Any]:
    """The JSON object in a text. Raises `InvalidValue`."""
    if len(text) > _MOST_LETTERS:
        raise InvalidValue(field, _TOO_LONG, most=_MOST_LETTERS)
    try:
        body = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise InvalidValue(field, _NO_OBJECT, problem=problem) from None
    if not isinstance(body, dict):
        raise InvalidValue(field, _NO_OBJECT, problem="it is something else")
    return body


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _check_body(body: object) -> None:
    if not isinstance(body, Mapping):
        raise InvalidValue(EXTRA_BODY, _NO_OBJECT, problem="it is something else")
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, TypeError, RecursionError):
        raise InvalidValue(EXTRA_BODY, _NO_OBJECT, problem="it cannot be sent as JSON") from None
    if "\\u0000" in text:
        raise InvalidValue(EXTRA_BODY, _NO_OBJECT, problem="it holds a character NUL")
    if len(text) > _MOST_LETTERS:
        raise InvalidValue(EXTRA_BODY, _TOO_LONG, most=_MOST_LETTERS)
    for name in body:
        if name in _OWN_FIELDS:
            raise InvalidValue(EXTRA_BODY, _OWN_FIELD, value=name)
    if _has_null(body):
        problem = "it holds null, which files of a study cannot hold; leave such a field out"
        raise InvalidValue(EXTRA_BODY, _NO_OBJECT, problem=problem)


def _has_null(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_null, value.values()))
    return any(map(_has_null, value)) if isinstance(value, list) else value is None


def _check_pairs(field: str, pairs: object) -> None:
    if not isinstance(pairs, Mapping):
        raise InvalidValue(field, _NO_OBJECT, problem="it is something else")
    if len(pairs) > _MOST_ENTRIES:
        raise InvalidValue(field, _TOO_MANY, most=_MOST_ENTRIES)
    for name, value in pairs.items():
        is_text = isinstance(value, str) and len(value) <= _LONGEST_VALUE
        if not is_text or not _PRINTABLE.fullmatch(value):
            raise InvalidValue(field, _BAD_VALUE, value=name, most=_LONGEST_VALUE)


def _check_header(field: str, name: str) -> None:
    if not _HEADER_NAME.fullmatch(name):
        raise InvalidValue(field, _BAD_NAME, value=name)
    if _OWN_HEADERS.fullmatch(name):
        raise InvalidValue(field, _OWN_HEADER, value=name)
