"""Return addresses: what an owner may enter, and where somebody goes after each ending."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from django.db.models import Count

from annotation.models import Annotator, Ending
from annotation.seats.flow import code_for
from annotation.services.other_platforms import OtherPlatforms, WayBack
from extras.panels.links import LinkRefused, PanelLink, signed
from extras.panels.models import Panel, PanelPerson
from extras.panels.presets import Preset
from studies.models import Study

# The endings for which a panel has an address, with their words.
KINDS_OF_ENDING = {
    "complete": "Complete",
    "screened_out": "Screened out",
    "over_quota": "Over quota",
    "failed": "Failed checks",
    "withdrew": "Withdrew or stopped",
}
ENDING_KIND: Mapping[Ending, str] = {
    Ending.COMPLETED: "complete",
    Ending.FAILED_ATTENTION: "failed",
    Ending.DISQUALIFIED: "screened_out",
    Ending.INELIGIBLE: "screened_out",
    Ending.QUOTA_FULL: "over_quota",
    Ending.CLOSED: "over_quota",
    Ending.DECLINED: "withdrew",
    Ending.WITHDREW: "withdrew",
    Ending.TIMED_OUT: "withdrew",
    Ending.RETURNED: "withdrew",
    Ending.REJECTED: "withdrew",
}
# One ending for each kind, by which a rehearsal walks all of them.
ENDING_OF_KIND = {kind: ending for ending, kind in reversed([*ENDING_KIND.items()])}
PLACEHOLDERS = ("person", "study", "session", "code")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_SUBMIT_PATH = "/mturk/externalSubmit"


@dataclass(frozen=True, kw_only=True)
class PanelWayBack(WayBack):
    """By a link, or by a form with `fields`; without either, people read what to do."""

    platform: str
    kind: str
    url: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    is_framed: bool = False


def fault_of(address: str, preset: Preset) -> str:
    """Why a return address cannot be used, and what to do; empty if it can."""
    if re.search(r"[^\x21-\x7e]", address):
        return "Use letters, digits and signs of an address only, without spaces."
    before_path = re.match(r"[^/]*//[^/?#]*|[^/?#]*", address)
    if before_path and re.search(r"[{}]", before_path[0]):
        return "The host cannot have a placeholder. Use placeholders after the host only."
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "This is not an address. Copy it from the panel, beginning with https://."
    if parts.scheme != "https" or not parts.hostname:
        return "Begin with https:// and the host of the panel."
    if parts.username or parts.password or port or parts.netloc != parts.hostname:
        return "Use the host alone, in small letters, without a port, a user or a password."
    if not preset.allows(parts.hostname):
        return (
            f"{parts.hostname} is not a host of {preset.title}. Use an address of "
            f"{preset.hosts_in_words}."
        )
    rest = _PLACEHOLDER.sub("", address)
    if "{" in rest or "}" in rest:
        return "A placeholder has one { and one }."
    unknown = set(_PLACEHOLDER.findall(address)) - set(PLACEHOLDERS)
    if unknown:
        names = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        return f"There is no placeholder {{{sorted(unknown)[0]}}}. Use {names}."
    return ""


def fill(address: str, values: Mapping[str, str]) -> str:
    """The address with its placeholders filled in, so that no value can change the address."""
    return _PLACEHOLDER.sub(lambda match: quote(values.get(match[1], ""), safe=""), address)


def way_back(
    panel: Panel, link: PanelLink, ending: Ending, *, is_framed: bool = False
) -> PanelWayBack:
    """Where somebody with this link goes after an ending.

    Who failed checks has done the work: without an address of their own they go back as the others.
    """
    kind = ENDING_KIND[ending]
    as_complete = kind == "complete" or (kind == "failed" and not panel.failed)
    code = code_for(study_id=panel.study_id, ending=ending)
    if as_complete and panel.complete_code:
        code = panel.complete_code
    by_code = panel.pay == Panel.Pay.CODES or (as_complete and bool(panel.complete_code))
    address = panel.complete if as_complete else getattr(panel, kind)
    url = ""
    fields: dict[str, str] = {}
    hosts: tuple[str, ...] = ()
    if link.submit_to and kind in ("complete", "failed"):
        url, hosts = f"https://{link.submit_to}{_SUBMIT_PATH}", (link.submit_to,)
        fields = {"assignmentId": link.session, "ending": kind, "code": code}
    elif address and not fault_of(address, panel.kind):
        values = {"person": link.person, "study": link.study, "session": link.session, "code": code}
        if all(values[name] for name in _PLACEHOLDER.findall(address)):
            url = fill(address, values)
            url = _signed(panel, url) if panel.signs_returns else url
    return PanelWayBack(
        template="annotation/endings/_panel.html",
        code=code if by_code else "",
        form_hosts=hosts,
        platform=panel.title,
        kind=kind,
        url=url,
        fields=fields,
        is_framed=is_framed,
    )


def _signed(panel: Panel, url: str) -> str:
    """The signed address; empty if the secret can no longer be read."""
    try:
        return signed(panel, url)
    except LinkRefused:
        return ""


def _person_of(annotator: Annotator) -> PanelPerson | None:
    people = PanelPerson.objects.select_related("panel").filter(annotator=annotator)
    return people.first()


def _way_back_of(annotator: Annotator, ending: Ending) -> WayBack | None:
    person = _person_of(annotator)
    if person is None:
        return None
    return way_back(person.panel, link_of(person), ending, is_framed=person.is_framed)


def _reward(annotator: Annotator) -> int | None:
    panels = PanelPerson.objects.filter(annotator=annotator)
    return panels.values_list("panel__reward", flat=True).first()


def _people(study: Study) -> Mapping[str, int]:
    counts = Panel.objects.filter(study=study).annotate(n=Count("people")).filter(n__gt=0)
    return dict(counts.values_list("title", "n"))


def link_of(person: PanelPerson) -> PanelLink:
    """What the newest link of a person said, as far as it is stored."""
    return PanelLink(
        person=person.person,
        study=person.study_reference,
        session=person.session,
        submit_to=person.submit_to,
        is_signed=person.is_signed,
    )


PLATFORMS = OtherPlatforms(
    "panels",
    sent=lambda annotator: PanelPerson.objects.filter(annotator=annotator).exists(),
    way_back=_way_back_of,
    reward=_reward,
    people=_people,
)
