"""Who may open which address: every role tries every route of the site, with GET and with POST.

The rules follow from the address; what differs from them stands in the tables. An address that is
new fails here until it is in the table it belongs to.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client

from analysis.models import Export, Report
from api.v1.serving import openapi
from judging.models import (
    Campaign,
    Judge,
    JudgeRun,
    Jury,
    PromptTemplate,
)
from studies.models import ImportJob, Membership, Study, Upload
from tests.api.conftest import program
from tests.config.test_hostile_requests import FORMS, LEFT_OUT, ROUTES, WAITING, path
from tests.extras import access
from tests.factories import make_item, make_study
from tests.sampling import examples, some

pytestmark = pytest.mark.django_db

PAGES = [route for route in ROUTES if not route.startswith("admin/") and route not in LEFT_OUT]
# What a form of a page does besides: the page, and what the field `action` says.
PAGES += [f"{route} {action}" for route, action in FORMS]
PAGES += WAITING
STUDY = "studies/<slug>/"
OF_STUDIES = [route.removeprefix(STUDY) for route in PAGES if route.startswith(STUDY)]
# These ask for no account: participants, links, invitations, forgotten passwords.
OPEN_TO_ALL = (
    *("s/<slug>/", "invitation/", "accounts/login/", "accounts/first/"),
    "accounts/password/",
    *(start for each in access() for start in each.OPEN),
)
# What viewers may read. They change nothing.
FOR_VIEWERS = {
    "",
    "disagreements/",
    "disagreements/?progress",
    "exports/",
    "exports/table/",
    "items/",
    "items/<key>/",
    "settings/extras/",
    "judges/",
    "judges/<run_id>/",
    "judges/<run_id>/panel/",
    "judges/campaign/<campaign_id>/",
    "judges/campaign/<campaign_id>/panel/",
    "judges/list/panel/",
    "judges/wordings/",
    "judges/wordings/<wording_id>/",
    "launch/",
    "monitor/",
    "next-step/",
    "people/",
    "people/items/",
    "people/preview/",
    "people/preview/<step>/",
    "reports/",
    "reports/<public_id>/",
    "reports/<public_id>/card.png",
    "reports/<public_id>/card.svg",
    "reports/<public_id>/pages/<name>.html",
    "reports/<public_id>/download/",
    "reports/<public_id>/items.json",
    "reports/<public_id>/report.html",
    "reports/<public_id>/report.json",
    "reports/<public_id>/?progress",
    "reports/<public_id>/tables.zip",
    "reports/<public_id>/tables/<name>.csv",
    "reports/view/",
    "settings/",
    "providers/",
    "team/",
    "whole/",
}
# What only owners may do; they are all POSTs but forms of extras.
FOR_OWNERS = {
    "providers/ decide",
    "team/hand-over/",
    "team/ invite",
    "team/ remove",
    "team/ role",
    "team/ withdraw",
    "whole/ archive",
    "whole/ delete",
    "whole/ retention",
}
# Any member who may create studies may copy one.
MAY_COPY = {"whole/ copy"}
# And an editor may make a linked one.
MAY_CREATE = MAY_COPY.union(*(each.MAY_CREATE for each in access()))
# Nobody finds these here: they want a file, a parameter, or a study of another kind.
NOT_HERE = {
    "exports/<public_id>/download/",
    "import/columns/<public_id>/item/<number>/",
    "people/annotator/",
    "people/invitations/",
    "people/prolific/bonuses/ pay",
    "people/prolific/bonuses/ set_up",
    "people/prolific/bonuses/ release",
    "people/prolific/bonuses/ cancel",
    "reports/<public_id>/card.png",
    "reports/<public_id>/card.svg",
    "reports/<public_id>/pages/<name>.html",
    "reports/<public_id>/download/",
    "reports/<public_id>/items.json",
    "reports/<public_id>/report.html",
    "reports/<public_id>/report.json",
    "reports/<public_id>/tables.zip",
    "reports/<public_id>/tables/<name>.csv",
}
for _of_extra in access():
    FOR_VIEWERS |= _of_extra.FOR_VIEWERS
    FOR_OWNERS |= _of_extra.FOR_OWNERS
    NOT_HERE |= _of_extra.NOT_HERE
# Who added a judge may change it, and superusers.
FOR_CREATORS = {
    "judges/available/<judge_id>/ retire",
    "judges/available/<judge_id>/ offer",
    "judges/available/<judge_id>/ remove_key",
    "judges/available/<judge_id>/ delete",
    "judges/available/<judge_id>/change/",
}
# Judges belong to the server and are offered in every study.
SHARED = ("judges/available/",)
# What a form names by a field, by the parameter of addresses that has the same.
IDS = {"export": "public_id", "proposal": "public_id", "expert": "expert_id", "job": "job_id"}
IDS |= {"draft": "draft_id", "link": "link_id", "file": "file_id"}
NAMED = {"exports/ again"}.union(*(each.NAMED for each in access()))
SIGN_IN, NO_SUCH_METHOD, HIDDEN = "sign in", 405, 404
WRITES = re.compile(r'\s*(?:INSERT|UPDATE|DELETE|REPLACE)[^"]*"(\w+)"')
# What a page computes when it is first read, from what is there, and keeps: a repeat is the same.
KEPT_WHEN_READ = {
    "analysis_comparison",
    "analysis_compareditem",
    "annotation_completioncode",
}.union(*(each.KEPT_WHEN_READ for each in access()))


@pytest.fixture
def study(settings, tmp_path: Path) -> Study:
    settings.VAR_DIR = tmp_path
    study = make_study(slug="s")
    make_item(study=study, key="item-1")
    return study


@pytest.fixture
def known(study) -> Callable[[str], dict[str, str]]:
    """What the parameters of a route are for things that the study has."""
    report = Report.objects.create(study=study, number=1, seed=1, threshold=80, bootstrap=100)
    export = Export.objects.create(study=study, what="all", format="jsonl")
    job = ImportJob.objects.create(study=study, file_name="f", task="preference")
    upload = Upload.objects.create(
        study=study, task="preference", files=["f.csv"], columns_hash="h", mapping={}
    )
    judge = Judge.objects.create(
        name="j", backend="openai", model="m", base_url="http://127.0.0.1:9/v1"
    )
    run = JudgeRun.objects.create(study=study, judge=judge, key="k", seed=1)
    campaign = Campaign.objects.create(study=study, name="c", plan={"name": "c", "judges": ["j"]})
    jury = Jury.objects.create(study=study, name="panel")
    wording = PromptTemplate.objects.create(study=study, name="w", template="t")
    of = {
        "exports/": export,
        "import/columns/": upload,
        "import/": job,
    }
    for of_extra in access():
        of |= of_extra.things(study)

    of_extras = {key: value for each in access() for key, value in each.known(study).items()}

    def known(route: str) -> dict[str, str]:
        rest = route.removeprefix(STUDY)
        thing = next((of[start] for start in of if rest.startswith(start)), report)
        return {
            "slug": study.slug,
            "key": "item-1",
            "public_id": thing.public_id,
            "run_id": run.public_id,
            "campaign_id": campaign.public_id,
            "judge_id": str(judge.pk),
            "jury_id": str(jury.pk),
            "wording_id": wording.public_id,
            "job_id": thing.public_id,
            "number": "1",
            "position": "1",
            "step": "task",
            "name": "judges",
            "reference": "0123",
            "action": "retire" if rest.startswith(SHARED) else "pause",
            **of_extras,
        }

    return known


def client_of(name: str, study: Study | None = None, **account: bool) -> Client:
    client = Client(raise_request_exception=False)
    user = User.objects.create_user(name, **account)
    if study:
        Membership.objects.create(user=user, study=study, role=name)
    client.force_login(user)
    return client


@contextmanager
def written() -> Iterator[set[str]]:
    """The tables that are written to, but for what pages keep."""
    tables: set[str] = set()

    def note(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        if match := WRITES.match(sql):
            tables.update({match[1]} - KEPT_WHEN_READ)
        return execute(sql, *arguments)

    with connection.execute_wrapper(note):
        yield tables


def sent(client: Client, method: str, route: str, known: dict[str, str]) -> Any:
    """The response to a request of a page, or to one of its forms if it is a POST."""
    page, _, action = route.partition(" ")
    fields = {name: known.get(key, "1") for name, key in IDS.items()} | {"action": action}
    data = [fields] if action and method == "post" else []
    return getattr(client, method)(path(page, known), *data)


def answers(client: Client, route: str, known: dict[str, str]) -> list[int | str]:
    """What GET and POST of a route give; whatever they did is undone. Forms are only posted."""
    found: list[int | str] = [NO_SUCH_METHOD] if " " in route else []
    for method in ("post",) if " " in route else ("get", "post"):
        with written() as tables, transaction.atomic():
            response = sent(client, method, route, known)
            transaction.set_rollback(True)
        assert method == "post" or not tables, f"Reading {route} writes {tables}"
        is_sign_in = response.headers.get("Location", "").startswith("/accounts/login/")
        found.append(SIGN_IN if is_sign_in else response.status_code)
    return found


def strays(client: Client, routes, known, allowed: set[int | str]) -> dict[str, list[int | str]]:
    """The routes that answer anything else."""
    found = {route: answers(client, STUDY + route, known(STUDY + route)) for route in routes}
    return {route: both for route, both in found.items() if not set(both) <= allowed}


def test_every_address_has_a_rule():
    others = {route for route in PAGES if not route.startswith((STUDY, *OPEN_TO_ALL))}

    assert others == {
        "",
        "accounts/end-all/",
        "accounts/second-step/",
        "accounts/second-step/ off",
        "accounts/tokens/",
        "accounts/tokens/ delete",
        "studies/",
        "studies/new/",
    }.union(*(each.OTHERS for each in access()))
    assert set(OF_STUDIES) >= FOR_VIEWERS | FOR_OWNERS | FOR_CREATORS | NOT_HERE


def test_without_an_account_there_is_only_the_sign_in_page(known):
    closed = [r for r in PAGES if r and not r.startswith(OPEN_TO_ALL)] + ["accounts/password/"]
    nobody = Client(raise_request_exception=False)
    found = {route: answers(nobody, route, known(route)) for route in closed}

    assert {
        r: both for r, both in found.items() if not set(both) <= {SIGN_IN, NO_SUCH_METHOD}
    } == {}
    assert [route for route, both in found.items() if SIGN_IN not in both] == []


HIDDEN_SLUGS = ("a-hidden-one", "nothing-here")
METHODS = ("get", "post", "head", "options", "put", "delete")


def shape(response, slug: str) -> tuple[object, ...]:
    """What a response tells: its body without what differs with each request, and its headers."""
    body = b"".join(response.streaming_content) if response.streaming else response.content
    text = body.decode().replace(slug, "SLUG")
    text = re.sub(r'(nonce|csrfmiddlewaretoken" value)="[^"]*"', "", text)
    headers = {
        name: value.replace(slug, "SLUG")
        for name, value in response.headers.items()
        if name not in ("Content-Length", "Content-Security-Policy", "X-Request-ID")
    }
    return response.status_code, text, headers, sorted(response.cookies)


@pytest.mark.parametrize(
    "who",
    ["staff", *(pytest.param(who, marks=pytest.mark.nightly) for who in ("stranger", "nobody"))],
)
def test_non_members_find_nothing_and_a_hidden_study_looks_like_a_missing_one(known, who):
    """On every address and for every method: a slug is not found by trying."""
    Study.objects.update(slug=HIDDEN_SLUGS[0])
    client = Client(raise_request_exception=False)
    if who != "nobody":
        client = client_of(who, is_staff=who == "staff")
    told = {}
    for route in (STUDY + each for each in OF_STUDIES):
        for method in METHODS[: examples(2, every=len(METHODS))]:
            with transaction.atomic():
                hidden, none = (
                    shape(sent(client, method, route, known(route) | {"slug": slug}), slug)
                    for slug in HIDDEN_SLUGS
                )
                transaction.set_rollback(True)
            if hidden != none or (who != "nobody" and hidden[0] not in (HIDDEN, NO_SUCH_METHOD)):
                told[method, route] = hidden, none

    assert told == {}


def test_the_api_hides_a_study_from_programs_without_a_role(known):
    Study.objects.update(slug=HIDDEN_SLUGS[0])
    told = {}
    stranger = program()
    for address, operations in openapi()["paths"].items():
        if "{slug}" not in address:
            continue
        for method in {*operations, "get", "head", "options", "post"}:
            if method not in ("get", "head", "options", "post", "put", "patch", "delete"):
                continue
            seen = []
            for slug in HIDDEN_SLUGS:
                there = known(STUDY) | {"slug": slug}
                route = re.sub(r"\{(\w+)\}", lambda m: str(there.get(m[1], "1")), address)  # noqa: B023
                sent = stranger(method.upper(), route.removeprefix("/api/v1/"), {})
                seen.append(shape(sent, slug))
            if seen[0] != seen[1]:
                told[method, address] = seen

    assert told == {}


def test_nothing_of_a_study_is_reached_through_another_one(known):
    """With the ids of one study in the addresses of another, where one may do everything."""
    owner = client_of("owner", make_study(slug="other"))
    routes = [r for r in OF_STUDIES if "<" in r and "<step>" not in r and not r.startswith(SHARED)]
    routes += NAMED

    def elsewhere(route: str) -> dict[str, str]:
        return known(route) | {"slug": "other"}

    assert len(routes) > 30
    assert strays(owner, routes, elsewhere, {HIDDEN, NO_SUCH_METHOD}) == {}


@pytest.mark.slow
def test_viewers_read_their_pages_and_change_nothing(study, known):
    viewer = client_of("viewer", study)
    found = {r: answers(viewer, STUDY + r, known(STUDY + r)) for r in OF_STUDIES}

    reads = {r for r, (get, _) in found.items() if get not in (HIDDEN, NO_SUCH_METHOD)}
    assert reads == FOR_VIEWERS - NOT_HERE
    changes = {r for r, (_, post) in found.items() if post not in (HIDDEN, NO_SUCH_METHOD)}
    assert changes == MAY_COPY
    assert found["whole/ copy"][1] == 403


@pytest.mark.slow
def test_editors_do_everything_except_what_owners_do(study, known):
    editor = client_of("editor", study)
    found = {r: answers(editor, STUDY + r, known(STUDY + r)) for r in OF_STUDIES}

    hidden = {r for r, both in found.items() if set(both) <= {HIDDEN, NO_SUCH_METHOD}}
    assert hidden == FOR_OWNERS | FOR_CREATORS | NOT_HERE
    assert {r for r, both in found.items() if 403 in both} == MAY_CREATE


@pytest.mark.sampled(keep=1)
@pytest.mark.slow
@pytest.mark.parametrize("role", ["owner", "superuser"])
def test_owners_and_superusers_find_everything(study, known, role):
    client = client_of("owner", study) if role == "owner" else client_of("root", is_superuser=True)
    # Editors try every route above.
    routes = set(some(OF_STUDIES, keep=40)) | FOR_OWNERS
    found = {r: answers(client, STUDY + r, known(STUDY + r)) for r in routes}

    hidden = {r for r, both in found.items() if set(both) <= {HIDDEN, NO_SUCH_METHOD}}
    assert hidden == routes & (NOT_HERE | (FOR_CREATORS if role == "owner" else set()))
    assert {r: both for r, both in found.items() if max(map(int, both)) >= 500} == {}


@pytest.mark.slow
def test_safe_methods_change_nothing(study, known):
    """Reading any page as somebody who may do everything, and asking with HEAD and OPTIONS.

    By default what `answers` does not read as an editor above.
    """
    root = client_of("root", is_superuser=True)
    root.get("/studies/")  # the session notes when it is used
    routes = [route for route in PAGES if route.removeprefix(STUDY) not in OF_STUDIES]
    routes += [STUDY + route for route in FOR_CREATORS]
    wrote = {}
    for route in some(PAGES, keep=0) or routes:
        for method in ("get", "head", "options"):
            with written() as tables, transaction.atomic():
                response = sent(root, method, route, known(route))
                if response.streaming:
                    list(response.streaming_content)
                transaction.set_rollback(True)
            if tables:
                wrote[method, route] = tables

    assert wrote == {}


def test_only_users_with_the_permission_find_the_form_for_a_new_study(study, known):
    for client, expected in (
        (client_of("owner", study), [403, 403]),
        (client_of("root", is_superuser=True), [200, 422]),
    ):
        assert answers(client, "studies/new/", known("studies/new/")) == expected
