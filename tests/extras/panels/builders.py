"""Panels of a study, and links as their panels would send them."""

from typing import Any
from urllib.parse import urlencode

from extras.panels.links import example_query, path_of, seal, signed
from extras.panels.models import Panel
from extras.panels.presets import presets
from studies.models import Study

SECRET = "ZZ6VkORqV25iSWOVb5cwZ03zpns"
# Return addresses of panels whose preset has none.
OWN = {
    "connect": {"complete": "https://connect.cloudresearch.com/participant/project/57/complete"},
    "sona": {
        "complete": "https://lab.sona-systems.com/webstudy_credit.aspx?experiment_id=9"
        "&credit_token=4e48&survey_code={person}"
    },
    "qualtrics": {
        kind: f"https://lab.qualtrics.com/jfe/form/SV_{kind}?ResponseID={{person}}"
        for kind in ("complete", "screened_out", "over_quota", "failed", "withdrew")
    },
    "cint": {
        kind: address.replace("PROJECT-TOKEN", "5e6f-1a2b")
        for kind, address in presets()["cint"].addresses.items()
    },
    "generic": {
        kind: f"https://panel.example.org/{kind}?pid={{person}}"
        for kind in ("complete", "screened_out", "over_quota", "failed", "withdrew")
    },
}


def make_panel(study: Study, preset: str, **fields: Any) -> Panel:
    kind = presets()[preset]
    values: dict[str, Any] = {
        "name": preset,
        "title": kind.title,
        "person_parameter": kind.person,
        "study_parameter": kind.study,
        "session_parameter": kind.session,
        "requires_study": "study" in kind.required,
        "requires_session": "session" in kind.required,
        "pay": kind.pay,
        "reward": study.reward,
        "signature": kind.signature,
        "signature_parameter": kind.signature_parameter,
        "signs_returns": bool(kind.signature),
        "sealed_secret": seal(SECRET) if kind.signature else "",
        **kind.addresses,
        **OWN.get(preset, {}),
    }
    return Panel.objects.create(study=study, preset=preset, **values | fields)


def link_of(panel: Panel, base: str = "", **changes: str | None) -> str:
    """The link that the panel would send, signed if it signs links; None leaves one out."""
    query = {**example_query(panel), **changes}
    sent = urlencode({name: value for name, value in query.items() if value is not None})
    address = f"{base}{path_of(panel)}?{sent}"
    return signed(panel, address) if panel.signature else address
