"""The navigation of a study, on the pages of every app."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis.lifecycle.requests import request_report
from judging.models import JudgeRun
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from studies.models import Membership
from studies.pages.workbench import SECTIONS, navigation, section_of
from tests.factories import make_annotator, make_item, make_items, make_study, sign_in
from tests.judging.conftest import make_judge

TITLES = ["Overview", "Items", "Annotators", "Judges", "Report", "Exports", "Settings"]
PAGES = {
    "studies:detail": "Overview",
    "studies:items": "Items",
    "studies:import": "Items",
    "people:list": "Annotators",
    "people:places": "Annotators",
    "people:checks": "Annotators",
    "people:prolific": "Annotators",
    "people:prolific-settle": "Annotators",
    "judging:list": "Judges",
    "judging:new": "Judges",
    "analysis:list": "Report",
    "analysis:view": "Report",
    "exports:list": "Exports",
    "studies:settings": "Settings",
}


@pytest.fixture
def study(db):
    return make_study()


@pytest.fixture
def editor(study):
    return sign_in(study)


def shown(page):
    """Title and aria-current of each link of the navigation."""
    nav = re.search(r'<nav class="sections" aria-label="Study">.*?</nav>', page.text, re.DOTALL)
    assert nav
    return re.findall(r'<a href="[^"]+"(?: aria-current="(\w+)")?>([A-Z]\w+)', nav[0])


@pytest.mark.sampled(keep=6)
@pytest.mark.parametrize("name", PAGES)
def test_every_page_of_a_study_has_the_same_sections(editor, study, name):
    found = shown(editor.get(reverse(name, args=[study.slug])))

    assert [title for _, title in found] == TITLES
    assert [title for current, title in found if current] == [PAGES[name]]


def test_a_sections_page_is_distinguished_from_pages_below_it(editor, study):
    home = shown(editor.get(reverse("people:list", args=[study.slug])))
    below = shown(editor.get(reverse("people:checks", args=[study.slug])))

    assert ("page", "Annotators") in home
    assert ("true", "Annotators") in below


def test_pages_outside_a_study_have_no_sections(editor):
    assert 'class="sections"' not in editor.get(reverse("studies:list")).text


def test_links_show_counts_and_what_waits(study, django_assert_max_num_queries):
    make_items(study, 3)
    spec = RunSpec(study_id=study.pk, judge_id=make_judge(base_url="http://127.0.0.1:9/v1").pk)
    run = start_run(spec, enqueue=False)
    JudgeRun.objects.filter(pk=run.pk).update(state="stopped_outage", sentence="It is down.")
    report = request_report(study_id=study.pk, threshold=80)
    report.state = "failed"
    report.save()

    with django_assert_max_num_queries(6):
        links = navigation(study, view_name="studies:detail", path="/")

    found = {link.title: (link.count, link.alerts) for link in links}
    assert found["Items"] == (3, ())
    assert found["Judges"] == (1, ("1 stopped",))
    assert found["Report"] == (0, ("failed",))
    assert found["Settings"] == (None, ())


def test_every_section_is_known():
    assert [section_of(name) for name in ("studies:detail", "studies:item")] == [
        "overview",
        "items",
    ]
    assert section_of("unknown:page") == ""
    assert len(SECTIONS) == len(TITLES)


def pages(page):
    """The second row: title and aria-current of each page of the section."""
    nav = re.search(r'<nav class="section-pages".*?</nav>', page.text, re.DOTALL)
    found = re.findall(r'<a href="[^"]+"(?: aria-current="(\w+)")?>([^<]+)', nav[0]) if nav else []
    return {title: current for current, title in found}


def test_a_section_lists_its_pages_once_they_have_something_to_show(editor, study):
    plain = pages(editor.get(reverse("people:prolific-bonuses", args=[study.slug])))
    assert not {"Codes", "Approve and pay"} & plain.keys()
    make_annotator(study=study)
    make_item(study=study)
    found = pages(editor.get(reverse("people:prolific-bonuses", args=[study.slug])))

    ours = [
        "All annotators",
        "Preview",
        "Texts",
        "Checks",
        "Places and quota",
        "Codes",
        "Prolific",
        "Approve and pay",
    ]
    # Extras add pages of their own between them.
    assert [title for title in found if title in ours] == ours
    # The nearest page above one that is not listed itself.
    assert [title for title, current in found.items() if current] == ["Prolific"]


def test_viewers_see_no_pages_that_only_editors_open(client, study):
    user = User.objects.create_user("viewer")
    Membership.objects.create(user=user, study=study, role="viewer")
    client.force_login(user)

    seen = pages(client.get(reverse("people:list", args=[study.slug])))
    assert "All annotators" in seen
    assert not {"Texts", "Checks", "Places and quota", "Prolific", "Preview"} & seen.keys()
    make_item(study=study)
    assert "Preview" in pages(client.get(reverse("people:list", args=[study.slug])))
    seen = pages(client.get(reverse("studies:items", args=[study.slug])))
    assert "Import" not in seen
