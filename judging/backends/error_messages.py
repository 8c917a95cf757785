"""Reads errors of servers: refused parameters, and other meanings.

A parameter counts as refused only if the error names it in a field of its own with a code for
“unsupported”, or in plain words such as “unsupported parameter X”. A message that only contains
the word, because it repeats the prompt or finds a value too large, changes nothing."""

import re
from collections.abc import Collection, Iterator, Mapping

from judging.backends.bodies import body_value

ErrorBody = Mapping[str, object]

_UNSUPPORTED = frozenset(
    {
        "unsupported_parameter",
        "unsupported_value",
        "unknown_parameter",
        "unrecognized_parameter",
        "extra_forbidden",
        "value_error.extra",
    }
)
# Names of parameters in messages, if they differ from the parameter's own name.
_NAMES = {
    "response_format": (
        r"response[ _]format(?:\s+[`'\"]?json_schema)?|json_schema|structured[ _]outputs?"
    ),
    "logprobs": r"log ?probs?",
}
_LIMIT_MARK = r"(?!\s+(?:of|above|below|over|under|greater|less|larger|smaller|outside|beyond)\b)"
_KIND = r"(?:parameter|argument|field|key|property|name|option|setting)s?"
_UNKNOWN = r"(?:unsupported|unrecogni[sz]ed|unknown|unexpected|not supported)"
_FORBIDDEN = (
    r"(?:is|are|was|were)\s+(?:currently\s+|now\s+)?"
    r"(?:not\s+(?:yet\s+)?(?:supported|recogni[sz]ed|permitted|enabled)"
    r"|unsupported|unrecogni[sz]ed|unexpected|unavailable|deprecated\s+for\s+this\s+model)"
)
# {name} is the parameter, with or without quotation marks around it.
_PHRASES = [
    # Unsupported parameter: 'seed' · Unrecognized request argument supplied: seed
    rf"\b{_UNKNOWN}\s+(?:\w+\s+)?{_KIND}(?:\s+(?:supplied|found|on this model))?\s*:?\s*{{name}}",
    # Argument not supported on this model: seed
    rf"\b{_KIND}\s+not\s+supported(?:\s+(?:on|by|with|for)\s+this\s+model)?\s*:\s*{{name}}",
    # Unsupported value: 'temperature' does not support 0.7 with this model
    r"\bunsupported\s+value\s*:\s*{name}\s+does\s+not\s+support\b",
    # 'seed' is not supported · response_format of type 'json_schema' is not supported
    rf"{{name}}(?:\s+(?:{_KIND}|type)|\s+of\s+type\s+\S+|\s+value)?\s+{_FORBIDDEN}{_LIMIT_MARK}",
    # This model does not support the parameter seed
    rf"\b(?:does\s+not|doesn[’']t|do\s+not|don[’']t)\s+support\s+(?:the\s+)?(?:use\s+of\s+)?"
    rf"(?:{_KIND}\s+)?{{name}}(?:\s+{_KIND})?{_LIMIT_MARK}(?=\s*(?:[.,;:(]|$|with|on|for|in|yet))",
    # You are not allowed to request logprobs from this model
    r"\bnot\s+allowed\s+to\s+request\s+{name}\s+from\s+this\s+model\b",
    # seed: Extra inputs are not permitted
    r"{name}\s*:\s*extra\s+(?:inputs?|fields?)\s+(?:are\s+|is\s+)?not\s+permitted",
    # Additional properties are not allowed ('seed' was unexpected)
    r"\badditional\s+properties\s+are\s+not\s+allowed\s*\({name}\s+(?:was|were)\s+unexpected",
]
_TOO_MANY = re.compile(  # the requested alternatives; some servers give fewer
    r"\blog ?probs\b.{0,40}\b(?:greater|more|larger)\s+than\s+(?:the\s+)?max"
    r"|\b(?:greater|more|larger)\s+than\s+the\s+maximum\b.{0,30}\blog ?probs\b"
    r"|\btop_logprobs\b.{0,60}(?:\bmust\s+be\b|<=|\bless\s+than\b|\bbetween\b|\bat\s+most\b"
    r"|\bmaximum\s+value\b)",
    re.IGNORECASE | re.DOTALL,
)
_ONE_OF_BOTH = re.compile(
    r"[`'\"]?temperature[`'\"]?\s+and\s+[`'\"]?top_p[`'\"]?\s+cannot\s+both\s+be\s+specified",
    re.IGNORECASE,
)
# Stream must be set to true · This model only supports streaming · streaming is required
_STREAM_ONLY = re.compile(
    r"\bstream(?:ing)?\b.{0,40}\b(?:must\b.{0,12}\b(?:true|set|enabled)|(?:is\s+)?required|only\b)"
    r"|\b(?:only|must|requires?|please)\b.{0,40}\bstream(?:ing)?\b(?!_)",
    re.IGNORECASE | re.DOTALL,
)
_NO_STREAM = re.compile(
    r"\b(?:not|cannot|can't|without|non).{0,20}\bstream(?!.{0,40}\bonly\b)|stream\W{1,3}false"
    r"|\bonly\b.{0,40}\b(?:when|if|with)\b.{0,20}\bstream",
    re.IGNORECASE | re.DOTALL,
)
_REPR = re.compile(r"'type':\s*'extra_forbidden',\s*'loc':\s*\('body',\s*'(\w+)'\)")
# Names of parameters in errors of which each kind of server has its own.
_MENTIONS = {
    "temperature": r"temperature",
    "top_p": r"top[ _-]?p|nucleus",
    "seed": r"(?:random[ _])?seed",
    "response_format": r"response[ _-]?format|json[ _]?(?:schema|object|mode)"
    r"|structured[ _]outputs?|guided[ _]\w+|grammar",
    "logprobs": r"(?:top[ _-]?)?log[ _-]?prob(?:s|abilities)?|top_n_tokens|n_probs",
    "max_tokens": r"max[ _](?:completion[ _]|new[ _]|output[ _])?tokens",
    "max_completion_tokens": r"max[ _](?:completion[ _]|new[ _]|output[ _])?tokens",
}
_COMPLAINT = re.compile(
    r"support|allow|permit|valid|known|recogni[sz]|expected|accept|implement|deprecat|must|only"
    r"|cannot|can't|should|range|forbidden|extra|drop_params",
    re.IGNORECASE,
)
_PARAMETERS = re.compile(r"\b(?:parameter|param|argument|option|setting|field)s?\b", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|too long|too many (?:input )?tokens|prompt is too",
    re.IGNORECASE,
)
_ABOUT_REQUESTS = frozenset({400, 422})  # statuses
_READ = 2000  # characters of a message; after them a server repeats the request
_FILTERS = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "data_inspection_failed",
        "datainspectionfailed",
        "invalid_prompt",
        "content_policy",
        "content_moderation",
        "contentfilter",
        "content_blocked",
        "prohibited_content",
        "sensitivecontentdetected",
        "inputtextsensitivecontentdetected",
        "outputtextsensitivecontentdetected",
        "1301",
    }
)
# What filters say; gateways pass it on with codes of their own. A message that only repeats such
# words from a prompt speaks of no request that was blocked.
_BLOCKED = re.compile(
    r"content[ _]?(?:policy[ _]?violation|management policy|filter(?:ing)?[ _]policy)"
    r"|\bcontent[ _]filter\b.{0,60}\b(?:trigger|block|refus|reject)"
    r"|\b(?:trigger|block|filter|refus|reject|flag)\w*\b.{0,60}\bcontent (?:filter|moderat|polic)"
    r"|responsibleaipolicyviolation|content_filter_result|data ?inspection ?failed"
    r"|inappropriate content|\bcontent exists risk\b|considered high risk|guardrail"
    r"|(?:input|prompt|request|output|response)\b.{0,40}\b(?:was|were|been|is) (?:flagged|blocked)"
    r"|flagged as potentially violating|blocked by (?:\w+ )?(?:safety|content|moderation)"
    r"|\b(?:block|filter|flag|reject|refus)\w*\b.{0,60}\bsafety (?:system|filter|settings|reason)"
    r"|\bviolat\w+\b.{0,60}\b(?:content policy|usage (?:policy|policies|guidelines))|敏感内容"
    r"|prohibited_content|safety (?:system|filter|settings)\b.{0,60}\b(?:block|reject|refus)",
    re.IGNORECASE | re.DOTALL,
)
_FIREWALL = re.compile(r"<!doctype|<html|cloudflare|\bwaf\b|\bip\b|user.?agent", re.IGNORECASE)
_FATAL_CODES = frozenset(
    {
        "model_not_found",
        "model_not_available",
        "invalid_model",
        "deploymentnotfound",
        "unknown_model",
        "model_not_supported",
    }
)
_KEY_CODES = frozenset({"invalid_api_key", "authentication_error", "invalid_authentication"})
_NO_MODEL = re.compile(
    r"\bnot a valid model\b|\bmodel\b.{0,80}\b(?:(?:does )?not exist|not found)\b"
    r"|\b(?:invalid|unknown) model\b",
    re.IGNORECASE | re.DOTALL,
)
_BAD_KEY = re.compile(r"\bapi key not valid\b|\b(?:invalid|incorrect) api key\b", re.IGNORECASE)


def error_body(content: bytes | str) -> ErrorBody:
    """The error, wherever the server has put it: a list, “error”, or the body itself."""
    try:
        body = body_value(content)
    except (ValueError, RecursionError):
        return {}
    body = body[0] if isinstance(body, list) and body else body
    error = (body.get("error") or body.get("errors") or body) if isinstance(body, dict) else {}
    error = error[0] if isinstance(error, list) else error
    return error if isinstance(error, dict) else {"message": error}


def refused_parameters(body: ErrorBody, *, sent: Collection[str]) -> list[str]:
    """The `sent` parameters that an error says the server does not accept."""
    named = [name for name in _listed(body) if name in sent]
    if named:
        return named
    param = _param(body, sent)
    if param is None:
        return []  # the error is not about one of our parameters
    message = _message(body)
    if param and str(body.get("code")).lower() in _UNSUPPORTED:
        return [param]
    if _ONE_OF_BOTH.search(message) and {"temperature", "top_p"} <= set(sent):
        return ["top_p"]
    if "top_logprobs" in sent and param in ("", "logprobs", "top_logprobs"):
        if _TOO_MANY.search(message):
            return ["top_logprobs"]
    candidates = [param] if param else sent
    return [name for name in candidates if _is_refused(name, message)]


def requires_stream(body: ErrorBody) -> bool:
    """Whether an error says that the server only streams its replies."""
    text = _message(body)[:600]
    return _STREAM_ONLY.search(text) is not None and not _NO_STREAM.search(text)


def mentioned_parameters(body: ErrorBody, *, sent: Collection[str], status: int) -> list[str]:
    """The `sent` parameters that an error mentions in any words; a guess, to be tried."""
    if not _may_be_about_parameters(body):
        return []
    if param := _param(body, sent):
        return [param]
    text = _whole(body)
    if status not in _ABOUT_REQUESTS and not _COMPLAINT.search(text):
        return []
    return [
        name
        for name, words in _MENTIONS.items()
        if name in sent and re.search(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", text, re.IGNORECASE)
    ]


def may_name_none(body: ErrorBody, *, status: int) -> bool:
    """Whether an error can be about parameters without naming one."""
    if not _may_be_about_parameters(body):
        return False
    return status in _ABOUT_REQUESTS or _PARAMETERS.search(_whole(body)) is not None


def _may_be_about_parameters(body: ErrorBody) -> bool:
    """Whether an error names nothing else that it is about."""
    is_about_another = body.get("param") in ("messages", "input", "model")
    is_about_another |= refuses_model(body) or refuses_key(body)
    return not is_about_another and _TOO_LONG.search(_whole(body)) is None


def _whole(body: ErrorBody) -> str:
    return str(dict(body))[:_READ]


def declines_content(body: ErrorBody) -> bool:
    """Whether an error says that a filter blocked the question or the reply."""
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping) and "flagged_input" in metadata:
        return True
    if any(code in _FILTERS for code in _codes(body)):
        return True
    # Only at the beginning, because a server that is asked for too much repeats the prompt.
    text = _whole(body)[:600]
    return _BLOCKED.search(text) is not None and _FIREWALL.search(text) is None


def refuses_model(body: ErrorBody) -> bool:
    """Whether an error says that the server has no such model."""
    codes = _codes(body)
    if any(code in _FATAL_CODES for code in codes):
        return True
    is_about_it = body.get("param") in (None, "", "model")
    return is_about_it and _NO_MODEL.search(_message(body)[:300]) is not None


def refuses_key(body: ErrorBody) -> bool:
    """Whether an error says that the key is unknown, whatever its status."""
    return any(code in _KEY_CODES for code in _codes(body)) or bool(
        _BAD_KEY.search(_message(body)[:300])
    )


def _codes(body: ErrorBody) -> list[str]:
    codes = []
    inner: object = body
    for _ in range(3):
        if not isinstance(inner, Mapping):
            break
        codes += [str(inner.get(key)).lower() for key in ("code", "type") if inner.get(key)]
        fields = inner.get("provider_specific_fields")
        inner = inner.get("innererror") or (
            fields.get("innererror") if isinstance(fields, Mapping) else None
        )
    return codes


def _param(body: ErrorBody, sent: Collection[str]) -> str | None:
    """The parameter that an error names; empty if it names none, None if it names another one."""
    reported = body.get("param")
    if not reported:
        return ""
    parts = re.split(r"[.\[\]]+", str(reported))
    return next((part for part in parts if part in sent), None)


def _message(body: ErrorBody) -> str:
    message = body.get("message") or body.get("detail") or ""
    return str(message)[:_READ]


def _listed(body: ErrorBody) -> Iterator[str]:
    """Names that a list of faults in the request describes as extra."""
    for key in ("detail", "message"):
        faults = body.get(key)
        if isinstance(faults, Mapping):
            faults = faults.get("detail")
        if isinstance(faults, str):
            yield from _REPR.findall(faults[:_READ])
        if not isinstance(faults, list):
            continue
        for fault in faults:
            where = fault.get("loc") if isinstance(fault, Mapping) else None
            # Deeper than body and name, the fault is about a part of a message.
            if isinstance(where, list) and len(where) <= 2 and fault.get("type") in _UNSUPPORTED:
                yield str(where[-1])


def _is_refused(name: str, message: str) -> bool:
    called = _NAMES.get(name, re.escape(name))
    # “seed” must not match as a part of another word or name.
    marked = rf"[`'\"“‘]*(?<![\w.])(?:{called})(?![\w.]\w)[`'\"”’]*"
    return any(
        re.search(phrase.replace("{name}", marked), message, re.IGNORECASE) for phrase in _PHRASES
    )
