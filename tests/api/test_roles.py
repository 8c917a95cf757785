"""Every route of the API is tried by every role, with all scopes and with too few."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction

from analysis.models import Export
from annotation.services import exclude, withdraw
from api.v1.routes.parts import parts_of_extras
from api.v1.serving import openapi
from studies.models import Study
from tests.api.conftest import EVERY_SCOPE, Program, program
from tests.extras import access
from tests.factories import make_study

pytestmark = pytest.mark.django_db
VIEWER, EDITOR = "viewer", "editor"
RUN = {"judge": "j"}
# Operation: who may, what is sent, which scopes it needs.
RULES: dict[str, tuple[str | None, Any, list[str]]] = {
    "list_studies": (None, None, ["read"]),
    "create_study": (None, {"title": "New"}, ["write"]),
    "read_study": (VIEWER, None, ["read"]),
    "change_study": (EDITOR, {"minutes": 5}, ["write"]),
    "list_parts": (VIEWER, None, ["read"]),
    "set_part": (EDITOR, {"content": ""}, ["write"]),
    "set_study_state": (EDITOR, {"state": "paused"}, ["write"]),
    "list_items": (VIEWER, None, ["read"]),
    "read_item": (VIEWER, None, ["read"]),
    "import_items": (EDITOR, "file", ["write"]),
    "list_imports": (EDITOR, None, ["read"]),
    "read_import": (EDITOR, None, ["read"]),
    "list_annotators": (VIEWER, None, ["read"]),
    "list_answers": (VIEWER, None, ["read"]),
    "read_quotas": (VIEWER, None, ["read"]),
    "set_quotas": (EDITOR, {"groups": []}, ["write"]),
    "list_judges": (EDITOR, None, ["read"]),
    "add_judge": (
        EDITOR,
        {"name": "k", "model": "m", "base_url": "https://api.openai.com/v1"},
        ["spend"],
    ),
    "read_judge": (EDITOR, None, ["read"]),
    "list_runs": (VIEWER, None, ["read"]),
    "estimate_run": (EDITOR, RUN, ["read"]),
    "start_run": (EDITOR, RUN, ["spend"]),
    "read_run": (VIEWER, None, ["read"]),
    "pause_run": (EDITOR, None, ["write"]),
    "cancel_run": (EDITOR, None, ["write"]),
    "resume_run": (EDITOR, None, ["spend"]),
    "retry_run": (EDITOR, None, ["spend"]),
    "list_judgments": (VIEWER, None, ["read"]),
    "list_reports": (VIEWER, None, ["read"]),
    "request_report": (EDITOR, {}, ["write"]),
    "read_report": (VIEWER, None, ["read"]),
    "read_report_json": (VIEWER, None, ["read"]),
    "download_report_file": (VIEWER, None, ["read"]),
    "list_exports": (VIEWER, None, ["read"]),
    "request_export": (EDITOR, {}, ["write", "export"]),
    "read_export": (VIEWER, None, ["read"]),
    "download_export": (VIEWER, None, ["export"]),
    "delete_export": (EDITOR, None, ["write"]),
}
NEED_DATA: set[str] = set()
for _extra in access():
    RULES |= _extra.ROUTES
    NEED_DATA |= _extra.ROUTES_NEED_DATA
OPERATIONS = {
    operation["operationId"]: (method.upper(), path.removeprefix("/api/v1/"))
    for path, methods in openapi()["paths"].items()
    for method, operation in methods.items()
}
PART = next(reversed(parts_of_extras()), "")
OF_STUDIES = [name for name, (role, *_) in RULES.items() if role and (PART or name != "set_part")]
LINE = b'{"id": "new", "question": "Q?", "responses": [{"text": "a"}, {"text": "b"}]}'


def status(who: Program, name: str, world: dict[str, str]) -> int:
    """What an operation answers; whatever it did is undone."""
    method, path = OPERATIONS[name]
    world = world | {"part": PART}
    _, body, _ = RULES[name]
    with transaction.atomic():
        if body == "file":
            file = SimpleUploadedFile("items.jsonl", LINE)
            response = who.send_files(path.format(**world), file=file)
        else:
            response = who(
                method, path.format(**world), {} if body is None and method == "POST" else body
            )
        list(response.streaming_content) if response.streaming else None
        transaction.set_rollback(True)
    return response.status_code


def study_of(world):
    return Study.objects.get(slug=world["slug"])


def test_every_operation_has_a_rule():
    assert set(OPERATIONS) == set(RULES)


@pytest.mark.parametrize("account", [{}, {"is_staff": True}], ids=["a stranger", "staff"])
def test_non_members_find_nothing_of_a_study(world, account):
    stranger = program(**account)

    assert {name: status(stranger, name, world) for name in OF_STUDIES} == dict.fromkeys(
        OF_STUDIES, 404
    )
    assert status(stranger, "list_studies", world) == 200
    assert status(stranger, "create_study", world) == 403


def test_nothing_of_a_study_is_reached_through_another_one(world):
    owner = program(make_study(slug="other"), "owner")
    inner = [name for name in OF_STUDIES if OPERATIONS[name][1].count("{") > 1]
    found = {name: status(owner, name, world | {"slug": "other"}) for name in inner}
    found.pop("read_judge")  # judges belong to the server
    found.pop("set_part", None)  # every study can have each

    assert found == dict.fromkeys(found, 404)


def test_viewers_read_and_change_nothing(world):
    viewer = program(study_of(world), "viewer")
    found = {name: status(viewer, name, world) for name in OF_STUDIES}

    for_editors = {name for name, (role, *_) in RULES.items() if role == EDITOR}
    assert {name for name, code in found.items() if code == 404} == for_editors
    assert {code for name, code in found.items() if name not in for_editors} == {200}


@pytest.mark.parametrize("role", ["editor", "owner", "superuser"])
def test_editors_and_owners_do_everything(world, role, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    who = program(is_superuser=True) if role == "superuser" else program(study_of(world), role)
    found = {name: status(who, name, world) for name in OF_STUDIES}

    assert {
        name: code
        for name, code in found.items()
        if code not in (200, 201, 202, 204) and (name not in NEED_DATA or code != 422)
    } == {}


def test_each_operation_needs_its_scopes(world):
    """Every scope but one of those that it needs is not enough; exactly those are."""
    user = program(study_of(world), "owner").user
    programs: dict[tuple[str, ...], Program] = {}

    def answer(name: str, scopes: tuple[str, ...]) -> int:
        if scopes not in programs:
            programs[scopes] = Program(user, scopes)
        return status(programs[scopes], name, world)

    for name, (_, _, needed) in RULES.items():
        for missing in needed:
            less = tuple(scope for scope in EVERY_SCOPE if scope != missing)
            assert answer(name, less) == 403, (name, less)
        assert answer(name, tuple(needed)) != 403 or name == "create_study", name


def test_exports_that_name_people_are_for_owners(world):
    Export.objects.update(identified=True)
    study = study_of(world)
    names = ("read_export", "download_export", "delete_export")

    editor, owner = program(study, "editor"), program(study, "owner")
    assert [status(editor, name, world) for name in names] == [404, 404, 404]
    assert [status(owner, name, world) for name in names] == [200, 200, 204]
    sent = {"identified": True, "confirmation": "s"}
    assert editor.post("studies/s/exports", sent).status_code == 403
    assert owner.post("studies/s/exports", {"identified": True}).status_code == 422
    assert owner.post("studies/s/exports", sent).status_code == 202


def test_an_outdated_file_is_named_and_sent_only_on_request(world):
    study = study_of(world)
    viewer = program(study, "viewer")
    address = f"studies/s/exports/{world['export']}"
    people = study.annotators.order_by("pk")

    assert viewer.get(address).json()["stale"] == ""
    exclude(annotator_id=people.first().pk, reason="Too fast.")
    shown, plain = viewer.get(address).json(), viewer.get(f"{address}/file")
    asked = viewer.get(f"{address}/file?outdated=true")
    b"".join(asked.streaming_content)
    withdraw(annotator_id=people.last().pk)
    gone = viewer.get(f"{address}/file?outdated=true")

    assert (shown["excluded_since"], shown["withdrawn_since"]) == (1, 0)
    assert "excluded" in shown["stale"]
    assert [plain.status_code, asked.status_code, gone.status_code] == [409, 200, 409]
    assert "1 person withdrew" in gone.json()["detail"]
    listed = viewer.get("studies/s/exports").json()
    assert listed["data"][0]["withdrawn_since"] == 1


def test_no_row_names_a_platform(world):
    owner = program(study_of(world), "owner")
    shown = owner.get("studies/s/annotators").json()["data"]
    answers = owner.get("studies/s/answers").json()["data"]

    text = json.dumps([shown, answers])
    assert "pid" not in text
    assert "P-" not in text
    assert [row["rater_id"][:2] for row in shown] == ["R-"]
    assert {row["rater_id"] for row in answers} == {shown[0]["rater_id"]}
