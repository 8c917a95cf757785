"""No request makes an error of the server, whatever stands in its path, query, form or cookies."""

import re
from collections.abc import Iterator
from html import unescape
from operator import itemgetter

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from analysis.models import Report
from studies.models import ImportJob, Membership
from studies.pages.addressed import View, form_views, progress_view
from tests.annotation.pages.walking import start
from tests.factories import make_items, make_study
from tests.sampling import some

# PostgreSQL alone refuses what SQLite takes.
pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
HUGE = "9" * 30
LONGEST = "9" * 5000  # more digits than Python reads
QUERY = (
    "search",
    "page",
    "state",
    "sort",
    "split",
    "set",
    "preset",
    "rater",
    "flag",
    "item",
    "key",
    "like",
    "campaign",
    "format",
    "first",
    "second",
    "PROLIFIC_PID",
    "STUDY_ID",
    "SESSION_ID",
)


@pytest.fixture
def study():
    study = make_study(slug="s")
    make_items(study, 2)
    return study


@pytest.fixture
def clients(study):
    """A stranger, a participant in the middle of the items, and an owner who is an admin too."""
    user = User.objects.create_superuser("owner")
    Membership.objects.create(user=user, study=study, role="owner")
    owner = Client(raise_request_exception=False)
    owner.force_login(user)
    participant = start(study, client=Client(raise_request_exception=False))
    return {
        "stranger": Client(raise_request_exception=False),
        "participant": participant,
        "owner": owner,
    }


@pytest.fixture
def known(study):
    """What a parameter of an address may be, so that the page behind it is reached."""
    report = Report.objects.create(study=study, number=1, seed=1, threshold=80, bootstrap=100)
    job = ImportJob.objects.create(study=study, file_name="f", task="preference")
    return {
        "slug": study.slug,
        "key": "item-1",
        "public_id": f"{report.public_id}|{job.public_id}",
        "run_id": "run",
        "link_id": "link",
        "number": "1",
        "position": "1",
        "step": "task",
        "action": "pause",
    }


def views(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, View]]:
    """Every route of the site, with <name> where a parameter stands, and its view."""
    for entry in resolver.url_patterns:
        route = before + _plain(str(entry.pattern))
        if isinstance(entry, URLPattern):
            yield route, entry.callback
        else:
            yield from views(entry, route)


def _plain(route: str) -> str:
    named = re.sub(r"\(\?P<(\w+)>[^)]*\)+", r"<\1>", route)
    return (
        re.sub(r"<\w+:(\w+)>", r"<\1>", named).replace("^", "").replace("$", "").replace("\\", "")
    )


VIEWS = sorted(views(get_resolver()), key=itemgetter(0))
ROUTES = sorted({route for route, _ in VIEWS})
# The forms of pages that have their own view: the route, and what the field `action` says.
FORMS = [(route, action) for route, page in VIEWS for action in sorted(form_views(page))]
# Pages that wait for a job, with what they fetch meanwhile.
WAITING = [f"{route}?progress" for route, page in VIEWS if progress_view(page)]
# What people open costs most: by default, others with each commit. A participant's own pages are
# few, and always among them.
OWN = [route for route in ROUTES if route.startswith("s/<slug>/")]
ELSEWHERE = [route for route in ROUTES if route not in OWN]
OPENED = {"participant": OWN + some(ELSEWHERE, keep=20), "owner": some(ROUTES, keep=25)}
# They say what they are asked to say, or end the session.
# tests/api sends what it likes to the API.
LEFT_OUT = {
    "api/v1/<route>",
    "<form>/",
    "healthz",
    "accounts/logout/",
    "admin/logout/",
    "prolific/webhook/",
}


def path(route: str, known: dict[str, str], /, **changed: str) -> str:
    """A route with its parameters filled in."""
    filled = {name: value.split("|")[0] for name, value in known.items()} | changed
    return "/" + re.sub(r"<(\w+)>", lambda match: filled.get(match[1], "1"), route)


def answer(client: Client, method: str, *args: object, **kwargs: object) -> int:
    """The status of a request; whatever it did is undone."""
    with transaction.atomic():
        status = getattr(client, method)(*args, **kwargs).status_code
        transaction.set_rollback(True)
    return status


def test_the_routes_are_found():
    assert len(ROUTES) > 90
    assert {"studies/<slug>/items/<key>/", "s/<slug>/task/<position>/", "healthz"} <= set(ROUTES)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("who", ["stranger", "owner"])
def test_nul_in_any_path_or_query_is_a_bad_request(clients, known, who):
    client = clients[who]
    asked: list[tuple[str, dict[str, str]]] = []
    for route in ROUTES:
        names = re.findall(r"<(\w+)>", route)
        asked += [(path(route, known, **{name: "a%00b"}), {}) for name in names]
        asked.append((path(route, known), {"x": "a\x00"}))

    assert [url for url, query in asked if answer(client, "get", url, query) != 400] == []


@pytest.mark.parametrize("who", ["participant", "owner"])
def test_no_number_in_a_path_or_query_causes_a_server_error(clients, known, who):
    client = clients[who]
    asked: list[tuple[str, dict[str, str]]] = []
    for route in (r for r in OPENED[who] if r not in LEFT_OUT):
        names = re.findall(r"<(\w+)>", route)
        numbers = {name: value for name in names for value in (HUGE, LONGEST)}
        asked += [(path(route, known, **{name: value}), {}) for name, value in numbers.items()]
        if not route.startswith("admin/"):
            asked += [(path(route, known), dict.fromkeys(QUERY, v)) for v in (HUGE, LONGEST)]

    assert [url for url, query in asked if answer(client, "get", url, query) >= 500] == []


@pytest.mark.parametrize("who", ["participant", "owner"])
def test_no_form_causes_a_server_error(clients, known, who):
    client = clients[who]
    failed, passed, forms = [], [], 0
    for route in OPENED[who]:
        url = path(route, known)
        if route.startswith("admin/") or route in LEFT_OUT:
            continue
        with transaction.atomic():
            page = client.get(url)
            transaction.set_rollback(True)
        for names, numbers in forms_of(page):
            forms += 1
            sent = [dict.fromkeys(names, HUGE), dict.fromkeys(names, LONGEST)]
            sent += [dict.fromkeys(names, "1") | {name: HUGE} for name in numbers]
            failed += [(url, data) for data in sent if answer(client, "post", url, data) >= 500]
            if answer(client, "post", url, {"a": "\x00"}) not in (400, 405):
                passed.append(url)

    assert failed == []
    assert passed == []
    assert forms >= 1


def forms_of(page) -> Iterator[tuple[list[str], list[str]]]:
    """The fields of each form that a page posts, and those of them that are for numbers."""
    if page.status_code != 200 or "html" not in page.headers.get("Content-Type", ""):
        return
    for form in re.findall(r"<form[^>]*method=\"post\".*?</form>", page.text, re.DOTALL):
        fields = re.findall(r"<(?:input|select|textarea|button)[^>]*\sname=\"[^\"]+\"[^>]*>", form)
        names = {unescape(re.findall(r"\sname=\"([^\"]+)\"", field)[0]): field for field in fields}
        names.pop("csrfmiddlewaretoken", None)
        typed = r"type=\"(number|hidden)\"|inputmode"
        yield list(names), [name for name, field in names.items() if re.search(typed, field)]


@pytest.mark.parametrize(
    "headers",
    [
        {"CONTENT_TYPE": "text/plain; charset=hex"},
        {"CONTENT_TYPE": "text/plain; charset=unicode_escape"},
        {"headers": {"X-Any": "a\x00"}},
    ],
)
def test_other_encodings_and_headers_with_nul_are_refused(clients, headers):
    assert clients["stranger"].generic("GET", "/accounts/login/", **headers).status_code == 400


def test_a_session_cookie_with_nul_is_refused(clients):
    client = clients["stranger"]
    client.cookies["sessionid"] = "\x00" * 12

    assert client.get("/studies/").status_code == 400


def test_participants_read_the_refusal_in_their_language(client):
    make_study(slug="d", language="de")

    page = client.get("/s/d/?PROLIFIC_PID=%00")

    assert page.status_code == 400
    assert 'lang="de"' in page.text


def test_a_webhook_is_read_as_it_came(client):
    response = client.post("/prolific/webhook/", "a\x00", content_type="text/plain")

    assert response.status_code == 403
