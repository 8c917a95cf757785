"""The simulated Prolific refuses what the documented API refuses; the client sends no such thing.

The table is written from the published reference, not from the simulation: method, path, a call
that is complete, and what of it the reference requires.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import requests

from annotation.prolific.api.client import ProlificClient
from demo.prolific.contract import CONTRACT
from demo.prolific.records import WORKSPACE
from demo.prolific.routing import route
from demo.prolific.server import TOKEN
from tests.annotation.prolific.payloads import study_payload

ID = "f" * 24
COUNTRY = {"filter_id": "current-country-of-residence", "selected_values": ["1"]}
PAY = {"workspace_id": WORKSPACE, "currency": "USD"}
HOOK = {
    "workspace_id": WORKSPACE,
    "event_type": "study.status.change",
    "target_url": "https://example.org/hook/",
}
STUDY_NEEDS = (
    "name",
    "description",
    "external_study_url",
    "prolific_id_option",
    "completion_codes",
    "total_available_places",
    "estimated_completion_time",
    "reward",
)
# Method, path, what is sent (in the query for GET), and its required names.
TABLE: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
    ("GET", "users/me/", {}, ()),
    ("GET", "workspaces/", {}, ()),
    ("GET", f"workspaces/{WORKSPACE}/balance/", {}, ()),
    ("GET", f"workspaces/{WORKSPACE}/projects/", {}, ()),
    ("POST", f"workspaces/{WORKSPACE}/projects/", {"title": "Lab"}, ("title",)),
    ("GET", f"projects/{ID}/studies/", {}, ()),
    ("GET", "filters/", {}, ()),
    (
        "GET",
        f"filters/{ID}/distribution/",
        {"workspace_id": WORKSPACE, "distribution_filters": "sex"},
        ("workspace_id", "distribution_filters"),
    ),
    ("GET", "filter-sets/", {}, ()),
    ("GET", f"filter-sets/{ID}/", {}, ()),
    ("POST", "eligibility-count/", {"filters": [COUNTRY]}, ("filters",)),
    (
        "POST",
        "study-cost-calculator/",
        {"reward": 450, "total_available_places": 6},
        ("reward", "total_available_places"),
    ),
    ("GET", "reward-recommendations/", PAY, ("workspace_id", "currency")),
    ("GET", "studies/", {}, ()),
    ("POST", "studies/", study_payload(), STUDY_NEEDS),
    ("GET", f"studies/{ID}/", {}, ()),
    ("PATCH", f"studies/{ID}/", {"total_available_places": 8}, ()),
    ("DELETE", f"studies/{ID}/", {}, ()),
    ("POST", f"studies/{ID}/transition/", {"action": "PUBLISH"}, ("action",)),
    ("POST", f"studies/{ID}/test-study", {}, ()),
    ("POST", "researchers/participants/", {"email": "test@example.org"}, ("email",)),
    ("GET", f"studies/{ID}/cost/", {"is_projected": "true"}, ()),
    ("POST", f"studies/{ID}/demographic-export/", {"filters": [COUNTRY]}, ()),
    ("GET", f"studies/{ID}/demographic-export-history/", {}, ()),
    ("GET", "participant-groups/", {"workspace_id": WORKSPACE}, ("workspace_id",)),
    (
        "POST",
        "participant-groups/",
        {"name": "Seen", "workspace_id": WORKSPACE},
        ("name", "workspace_id"),
    ),
    ("DELETE", f"participant-groups/{ID}/", {}, ()),
    ("GET", f"participant-groups/{ID}/participants/", {}, ()),
    (
        "POST",
        f"participant-groups/{ID}/participants/",
        {"participant_ids": [ID]},
        ("participant_ids",),
    ),
    ("GET", "submissions/", {"study": ID}, ("study",)),
    ("GET", f"submissions/{ID}/", {}, ()),
    ("POST", f"submissions/{ID}/transition/", {"action": "APPROVE"}, ("action",)),
    ("POST", "submissions/bulk-approve/", {"submission_ids": [ID]}, ("submission_ids",)),
    (
        "POST",
        f"submissions/{ID}/request-return/",
        {"request_return_reasons": ["Other"]},
        ("request_return_reasons",),
    ),
    (
        "POST",
        "submissions/bonus-payments/",
        {"study_id": ID, "csv_bonuses": f"{ID},1.50\n"},
        ("study_id", "csv_bonuses"),
    ),
    ("POST", f"bulk-bonus-payments/{ID}/pay/", {}, ()),
    ("GET", "messages/", {"user_id": ID}, ("user_id",)),
    (
        "POST",
        "messages/",
        {"recipient_id": ID, "body": "Thank you.", "study_id": ID},
        ("recipient_id", "body", "study_id"),
    ),
    (
        "POST",
        "messages/bulk/",
        {"ids": [ID], "body": "Thank you.", "study_id": ID},
        ("ids", "body", "study_id"),
    ),
    ("GET", "messages/unread/", {}, ()),
    ("GET", "hooks/secrets/", {"workspace_id": WORKSPACE}, ("workspace_id",)),
    ("POST", "hooks/secrets/", {"workspace_id": WORKSPACE}, ("workspace_id",)),
    ("GET", "hooks/subscriptions/", {"workspace_id": WORKSPACE}, ()),
    ("POST", "hooks/subscriptions/", HOOK, ("workspace_id", "event_type", "target_url")),
    ("POST", f"hooks/subscriptions/{ID}/", {"secret": "s"}, ("secret",)),
    ("DELETE", f"hooks/subscriptions/{ID}/", {}, ()),
]
# One of each kind of value that the reference describes.
WRONG_TYPES = [
    ("POST", "studies/", study_payload(), "reward", "450"),
    ("POST", "studies/", study_payload(), "reward", True),
    ("POST", "studies/", study_payload(), "study_labels", ["something"]),
    ("POST", "studies/", study_payload(), "prolific_id_option", "none"),
    ("POST", "studies/", study_payload(), "filters", [{"selected_values": ["1"]}]),
    ("POST", "studies/", study_payload(), "completion_codes", [{"code": "A"}]),
    ("GET", "reward-recommendations/", PAY, "workspace_id", "lab"),
    ("GET", "workspaces/", {}, "limit", "many"),
    ("GET", f"studies/{ID}/cost/", {}, "is_projected", "perhaps"),
    ("POST", "submissions/bulk-approve/", {}, "submission_ids", [ID] * 1001),
    # What belongs to somebody else.
    ("GET", "reward-recommendations/", PAY, "workspace_id", ID),
    ("POST", "hooks/secrets/", {}, "workspace_id", ID),
    ("POST", "studies/", study_payload(), "project", ID),
]


@pytest.fixture
def ask(prolific, settings):
    """Send a raw request; the answer's status and the fields that it complains about."""

    def send(method: str, path: str, sent: dict[str, Any]) -> tuple[int, set[str]]:
        where = "params" if method == "GET" else "json"
        answer = requests.request(
            method,
            f"{settings.PROLIFIC_BASE_URL}/api/v1/{path}",
            timeout=60,
            headers={"Authorization": f"Token {TOKEN}"},
            **{where: sent},
        )
        detail = answer.json()["error"]["detail"] if answer.status_code >= 400 else {}
        return answer.status_code, set(detail) if isinstance(detail, dict) else set()

    return send


@pytest.mark.nightly
@pytest.mark.parametrize("call", TABLE, ids=lambda call: f"{call[0]} {call[1].replace('/', ' ')}")
def test_a_call_without_a_required_name_or_with_an_unknown_one_is_refused(call, ask, prolific):
    method, path, complete, required = call
    prolific.world.hook_secret = "made before subscribing"

    for name in required:
        rest = {k: v for k, v in complete.items() if k != name}
        assert ask(method, path, rest) == (400, {name})
    assert ask(method, path, {**complete, "colour": "red"}) == (400, {"colour"})
    status, fields = ask(method, path, complete)
    assert status < 300 or ID in str(call), (status, fields)  # complete, if of nobody's
    assert fields == set()


def test_the_table_and_the_simulation_know_the_same_calls():
    plain = {(m, p.replace(WORKSPACE, "<id>").replace(ID, "<id>")) for m, p, *_ in TABLE}

    assert plain == set(CONTRACT)


@pytest.mark.parametrize(
    ("method", "path", "sent", "name", "value"), WRONG_TYPES, ids=lambda v: str(v)[:24]
)
def test_an_impossible_value_is_refused_by_name(method, path, sent, name, value, ask):
    assert ask(method, path, {**sent, name: value}) == (400, {name})


def wrong_value(schema: dict[str, Any], *, is_query: bool) -> Any:
    """A value that the schema excludes; None where it excludes nothing that can be sent."""
    kind = schema.get("type", [])
    names = {kind} if isinstance(kind, str) else set(kind)
    if "enum" in schema or "pattern" in schema:
        return "none of these"
    if is_query:
        return "perhaps" if names & {"integer", "boolean", "number"} else None
    if names or "oneOf" in schema or "$ref" in schema:
        return "perhaps" if names and "string" not in names else {"perhaps": {}}
    return None


@pytest.mark.nightly
@pytest.mark.parametrize("call", TABLE, ids=lambda call: f"{call[0]} {call[1].replace('/', ' ')}")
def test_every_field_of_a_call_refuses_what_the_table_excludes(call, ask):
    method, path, complete, _ = call
    row = CONTRACT[method, path.replace(WORKSPACE, "<id>").replace(ID, "<id>")].row
    is_query = method == "GET"

    for name, schema in row.get("query" if is_query else "body", {}).items():
        if (wrong := wrong_value(schema, is_query=is_query)) is None:
            continue
        assert ask(method, path, {**complete, name: wrong}) == (400, {name}), (name, wrong)
        if most := schema.get("maxItems"):
            assert ask(method, path, {**complete, name: [ID] * (most + 1)}) == (400, {name})


def test_without_a_project_the_first_one_is_taken_and_its_wallet_pays(client_of, prolific):
    world = prolific.world
    world.workspaces.append({"id": "2" * 24, "title": "Paying lab"})
    second = world.projects_of("2" * 24)[0]["id"]
    client = client_of()

    stray = client.create_study(study_payload())
    meant = client.create_study(study_payload(project=second))
    client.transition_study(meant.id, "PUBLISH")

    assert world.studies[stray.id]["project"] == world.projects_of(WORKSPACE)[0]["id"]
    assert world.wallet(WORKSPACE) == 10_000_000
    assert world.wallet("2" * 24) == 10_000_000 - world.total_cost(450, 4)


def test_every_call_of_the_client_is_as_documented(client_of, prolific):
    """Each method once, against a simulation that refuses everything else."""
    client: ProlificClient = client_of()
    project = client.projects(WORKSPACE)
    (project_id,) = project
    client.create_project(WORKSPACE, "Thirdperson")
    client.me()
    client.balance(WORKSPACE)
    client.filters(workspace=WORKSPACE)
    client.eligible([COUNTRY], workspace=WORKSPACE)
    assert client.distribution("custom-group-fact-checkers", ["sex"], workspace=WORKSPACE)
    prolific.world.add_filter_set("Adults", [COUNTRY], WORKSPACE)
    (kept,) = client.filter_sets(workspace=WORKSPACE)
    assert client.filter_set(kept.id) == kept
    client.calculate_cost(reward=450, places=4)
    client.least_pay("USD", workspace=WORKSPACE)
    group = client.create_group("Seen", workspace=WORKSPACE)
    assert client.groups(workspace=WORKSPACE) == {"Seen": group}
    assert client.groups(workspace=client.workspaces().popitem()[0])
    draft = client.create_study(study_payload(project=project_id))
    client.delete_study(draft.id)
    study = client.create_study(study_payload(project=project_id, internal_name="mine"))
    assert [s.internal_name for s in client.studies(project_id)] == ["mine"]
    assert [s.internal_name for s in client.studies()] == ["mine"]
    client.transition_study(study.id, "SCHEDULE_PUBLISH", at="2100-01-01T09:00:00+00:00")
    client.transition_study(study.id, "CANCEL_PUBLISH")
    client.transition_study(study.id, "PUBLISH")
    client.set_places(study.id, 5)
    client.cost(study.id)
    people = [prolific.world.arrive(study.id)["submission"] for _ in range(3)]
    for person in people:
        prolific.world.finish(person, "DONE1234")
    assert len(list(client.submissions(study.id))) == 3
    client.submission(people[0])
    client.approve(people[:1])
    client.reject(people[1], category="LOW_EFFORT", message="Nothing was read. " * 10)
    client.request_return(people[2], ["Other"])
    client.pay_bonuses(client.set_up_bonuses(study.id, [(people[0], "1.50")]).id)
    client.create_secret(WORKSPACE)
    assert len(client.secrets(WORKSPACE)) == 1
    hook = client.subscribe(
        workspace=WORKSPACE, event="study.status.change", url="https://example.org/hook/"
    )
    assert len(client.subscriptions(WORKSPACE)) == 1
    client.unsubscribe(hook)


DESCRIPTION = os.environ.get("THIRDPERSON_PROLIFIC_OPENAPI", "")


def paths_of(described: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        re.sub(r"{[^}]*}", "<id>", path.removeprefix("/api/v1/")): operations
        for path, operations in described["paths"].items()
    }


def calls_gone(described: dict[str, Any]) -> list[str]:
    """The calls of the table that a description does not have."""
    paths = paths_of(described)
    return [f"{m} {p}" for m, p in CONTRACT if m.lower() not in paths.get(p, {})]


def test_a_removed_operation_is_named():
    """Removed by Prolific: in a newer description. Removed from the table: in the simulation."""
    described: dict[str, Any] = {"paths": {}}
    for method, path in CONTRACT:
        described["paths"].setdefault(f"/api/v1/{path}", {})[method.lower()] = {}
    del described["paths"]["/api/v1/studies/<id>/transition/"]["post"]

    assert calls_gone(described) == ["POST studies/<id>/transition/"]
    with pytest.raises(ValueError, match="does not know POST studies/<id>/sell/"):
        route("POST", "studies/<id>/sell/")


@pytest.mark.skipif(not DESCRIPTION, reason="THIRDPERSON_PROLIFIC_OPENAPI names no file")
def test_the_table_says_what_the_description_says():
    """Names, which of them are required, and choices; what is `added` is not in it."""
    described = json.loads(Path(DESCRIPTION).read_text("utf-8"))
    shapes = described["components"]["schemas"]

    def resolved(one: dict[str, Any]) -> dict[str, Any]:
        return shapes[one["$ref"].split("/")[-1]] if "$ref" in one else one

    assert calls_gone(described) == []
    paths = paths_of(described)
    for (method, path), call in CONTRACT.items():
        operation = paths[path][method.lower()]
        query = {p["name"]: p for p in operation.get("parameters", []) if p["in"] == "query"}
        content = operation.get("requestBody", {}).get("content", {})
        body = resolved(next(iter(content.values()), {"schema": {}})["schema"])
        variants = [resolved(one) for one in body.get("oneOf", [body])]
        fields = {n: f for one in variants for n, f in one.get("properties", {}).items()}
        for part, known in (("query", query), ("body", fields)):
            ours = {n: s for n, s in call.row.get(part, {}).items() if "added" not in s}
            if "filter" in known:  # its two variants are written as two names
                assert set(ours) == {*known, "workspace_id", "project_id"} - {"filter"}
                continue
            assert set(ours) == set(known), (method, path, part)
            for name, schema in ours.items():
                there = resolved(known[name].get("schema", known[name]))
                assert schema.get("enum") == there.get("enum"), (method, path, name)
        needed = {n for n, p in query.items() if p.get("required")} - {"filter"}
        if len(variants) == 1:
            needed |= set(body.get("required", ()))
        assert set(call.row.get("required", ())) == needed, (method, path)
