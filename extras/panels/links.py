"""Links of a panel: what to paste there, and what a link says when somebody opens it."""

import base64
import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.http import QueryDict
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

from annotation.errors import EntryRefused
from extras.panels.models import Panel
from studies.sealing import cipher

_PURPOSE = b"thirdperson: secrets of panels, version 1"
_REFERENCE = re.compile(r"[0-9A-Za-z._~:+=/|-]{1,128}")
# Stand for what a panel fills in, where its own placeholder is not known.
_UNKNOWN = {"person": "ID", "study": "STUDY", "session": "SESSION"}


class LinkRefused(EntryRefused):
    """A link that lets nobody in. `fault` says why, and `parameter` where; neither has an id."""

    def __init__(self, fault: str, parameter: str = "") -> None:
        super().__init__(f"{fault}: {parameter}" if parameter else fault)
        self.fault, self.parameter = fault, parameter


@dataclass(frozen=True)
class PanelLink:
    """What an opened link says; `submit_to` is the host that takes the result, if it names one."""

    person: str
    study: str = ""
    session: str = ""
    submit_to: str = ""
    is_signed: bool = False


def path_of(panel: Panel) -> str:
    return reverse("panel_entry:entry", args=[panel.study.slug, panel.name])


def link_to_paste(panel: Panel) -> str:
    """The link for the panel, with the panel's own placeholders."""
    kind, parts = panel.kind, []
    for name, parameter in parameters(panel).items():
        if not parameter or (not kind.link and panel.preset != "generic"):
            continue  # the panel adds its parameters itself
        parts.append(f"{parameter}={kind.link.get(name, _UNKNOWN[name])}")
    query = f"?{'&'.join(parts)}" if parts else ""
    return f"{settings.PUBLIC_BASE_URL}{path_of(panel)}{query}"


def parameters(panel: Panel) -> dict[str, str]:
    """The names of the parameters of person, study and session; empty if there is none."""
    return {
        "person": panel.person_parameter,
        "study": panel.study_parameter,
        "session": panel.session_parameter,
    }


def is_preview(panel: Panel, query: QueryDict) -> bool:
    """Whether somebody looks at the task on the panel before they accept it."""
    preview = panel.kind.preview
    return bool(preview) and query.get(panel.session_parameter) == preview


def read_link(panel: Panel, query: QueryDict, address: str) -> PanelLink:
    """What the link with this query says; `address` is the whole link, which may be signed.

    Raises `LinkRefused`.
    """
    kind, names = panel.kind, parameters(panel)
    read = [*names.values(), kind.submits_to, panel.signature and panel.signature_parameter]
    for parameter in filter(None, read):
        if len(query.getlist(parameter)) > 1:
            raise LinkRefused("twice", parameter)
    required = {
        "person": True,
        "study": panel.requires_study,
        "session": panel.requires_session,
    }
    values = {}
    for name, parameter in names.items():
        values[name] = query.get(parameter, "").strip() if parameter else ""
        if required[name] and not values[name]:
            raise LinkRefused("missing", parameter)
    if panel.signature:
        _check_signature(panel, query, address)
    if not re.fullmatch(kind.ids, values["person"]):
        raise LinkRefused("foreign", panel.person_parameter)
    for name in ("study", "session"):
        if values[name] and not _REFERENCE.fullmatch(values[name]):
            raise LinkRefused("foreign", names[name])
    return PanelLink(
        **values,
        submit_to=_host_for_results(panel, query),
        is_signed=bool(panel.signature),
    )


def _host_for_results(panel: Panel, query: QueryDict) -> str:
    """The host that takes the result, which must be one of the panel's; empty if it names none."""
    kind = panel.kind
    if not kind.submits_to:
        return ""
    value = query.get(kind.submits_to, "")
    if not value:
        raise LinkRefused("missing", kind.submits_to)
    try:
        parts = urlsplit(value)
        is_own = parts.scheme == "https" and parts.netloc in kind.hosts
    except ValueError:
        is_own = False
    if not is_own:
        raise LinkRefused("foreign", kind.submits_to)
    return parts.netloc


@sensitive_variables()
def _check_signature(panel: Panel, query: QueryDict, address: str) -> None:
    """Raise `LinkRefused` unless the panel signed the whole address before the signature.

    Panels sign it either up to the name of the parameter or with that name, so both are read.
    """
    name, sent = panel.signature_parameter, query.get(panel.signature_parameter, "")
    if not sent:
        raise LinkRefused("missing", name)
    before, separator, after = address.rpartition(f"{name}=")
    if not separator or "&" in after or before[-1:] not in ("&", "?"):
        raise LinkRefused("signature", name)  # what follows the signature is not signed
    for message in (before, f"{before}{name}="):
        if any(hmac.compare_digest(sent.rstrip("="), own) for own in _written(panel, message)):
            return
    raise LinkRefused("signature", name)


def signed(panel: Panel, address: str) -> str:
    """The address with the signature by which the panel knows that it is ours."""
    message = f"{address}{'&' if '?' in address else '?'}"
    return f"{message}{panel.signature_parameter}={next(_written(panel, message))}"


@sensitive_variables()
def _written(panel: Panel, message: str) -> Iterator[str]:
    """The signature of a message as text: in base64 for addresses, then in hexadecimal digits."""
    secret = unseal(panel)
    if not secret:
        raise LinkRefused("signature", panel.signature_parameter)
    algorithm = {"sha1": hashlib.sha1, "sha256": hashlib.sha256}[panel.signature]
    code = hmac.new(secret.encode(), message.encode(), algorithm).digest()
    yield base64.urlsafe_b64encode(code).decode().rstrip("=")
    yield code.hex()


@sensitive_variables()
def seal(secret: str) -> str:
    """Encrypt a panel's secret for the database."""
    return cipher(_PURPOSE).encrypt(secret.encode()).decode() if secret else ""


@sensitive_variables()
def unseal(panel: Panel) -> str:
    """The panel's secret; empty if there is none, or SECRET_KEY has changed since."""
    from cryptography.fernet import InvalidToken

    try:
        return cipher(_PURPOSE).decrypt(panel.sealed_secret.encode()).decode()
    except InvalidToken:
        return ""


def example_query(panel: Panel) -> Mapping[str, str]:
    """Parameters as the panel fills them in, with ids that nobody has."""
    example = panel.kind.example
    query = {
        parameter: example.get(name, f"example-{name}")
        for name, parameter in parameters(panel).items()
        if parameter
    }
    if panel.kind.submits_to:
        query[panel.kind.submits_to] = f"https://{panel.kind.hosts[0]}"
    return query
