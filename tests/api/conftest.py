"""Programs with tokens, as tests use them."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from analysis.models import Export, Report
from judging.models import Judge, JudgeRun, Judgment
from studies.models import ImportJob, Membership, Study
from studies.services.accounts.credentials import create_token
from tests.extras import access
from tests.factories import answer_all, make_items, make_study, walk_in

EVERY_SCOPE = ("read", "write", "spend", "export")
_serial = count(1)


class Program:
    """A program with a token: sends JSON, and reads JSON."""

    def __init__(self, user: User, scopes=EVERY_SCOPE) -> None:
        self.user = user
        self.token = create_token(user=user, name="test", days=30, scopes=scopes)
        self.client = Client(raise_request_exception=False, enforce_csrf_checks=True)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The response of `method` at `path` below `/api/v1/`."""
        sent = {"Authorization": f"Bearer {self.token}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        options: dict[str, Any] = {"headers": sent}
        if body is not None:
            options |= {"data": json.dumps(body), "content_type": "application/json"}
        return self.client.generic(method, f"/api/v1/{path}", **options)

    def send_files(self, path: str, **fields: Any) -> Any:
        sent = {"Authorization": f"Bearer {self.token}"}
        return self.client.post(f"/api/v1/{path}", fields, headers=sent)

    def get(self, path: str, **headers: str) -> Any:
        return self("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self("POST", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> Any:
        return self("PATCH", path, body, **headers)


def program(study: Study | None = None, role: str = "", scopes=EVERY_SCOPE, **account: bool):
    """A program of a new user who has `role` in `study`; a stranger's without one."""
    user = User.objects.create_user(f"{role or 'stranger'}-{next(_serial)}", **account)
    if study and role:
        Membership.objects.create(user=user, study=study, role=role)
    return Program(user, scopes)


@pytest.fixture
def study(db, settings, tmp_path) -> Study:
    settings.VAR_DIR = tmp_path
    return make_study(slug="s", state="draft")


@pytest.fixture
def owner(study) -> Program:
    return program(study, "owner")


@pytest.fixture
def world(db, settings, tmp_path) -> dict[str, str]:
    """A study with one of everything, and the parameters of its addresses."""
    settings.VAR_DIR = tmp_path
    study = make_study(slug="s", items_per_annotator=2)
    items = make_items(study, 2)
    answer_all(walk_in(study))
    judge = Judge.objects.create(
        name="j", model="m", base_url="https://api.openai.com/v1", api_key_env="OPENAI_API_KEY"
    )
    run = JudgeRun.objects.create(study=study, judge=judge, key="k", seed=1, setting="standard")
    Judgment.objects.create(run=run, item=items[0], shown_first="r1", state="pending")
    now = study.created_at
    report = Report.objects.create(
        study=study,
        number=1,
        seed=1,
        threshold=80,
        bootstrap=100,
        state="done",
        result={},
        finished_at=now,
    )
    folder = Path(tmp_path) / "reports" / report.public_id
    (folder / "tables").mkdir(parents=True)
    (folder / "report.html").write_text("<p>")
    (folder / "report.json").write_text("{}")
    export = Export.objects.create(
        study=study,
        what="all",
        format="jsonl",
        state="done",
        finished_at=now,
        expires_at=now,
        size=1,
        sha256="0",
        filename="f.zip",
    )
    (Path(tmp_path) / "exports" / export.public_id).mkdir(parents=True)
    (Path(tmp_path) / "exports" / export.public_id / "f.zip").write_bytes(b"x")
    job = ImportJob.objects.create(study=study, file_name="f", task="preference")
    of_extras = {
        key: row.public_id
        for extra in access()
        if extra.ROUTES
        for key, row in extra.things(study).items()
    }
    return {
        **{key.removesuffix("s/"): value for key, value in of_extras.items()},
        "slug": "s",
        "key": items[0].key,
        "job": job.public_id,
        "judge": str(judge.pk),
        "run": run.public_id,
        "report": report.public_id,
        "export": export.public_id,
        "name": "report.html",
    }
