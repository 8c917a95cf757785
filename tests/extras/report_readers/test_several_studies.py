"""A report on several studies: built by one press, for one person, deleted with the data in it."""

import io
import zipfile

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from analysis.report.added_files import MORE
from extras.report_readers.models import StudiesReport
from extras.report_readers.several.building import build_queued, content_of, delete_files, folder_of
from studies.models import Item, Membership, Study
from studies.services.whole_studies import delete_study
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db
CHOOSE = reverse("several_studies:choose")


@pytest.fixture
def waves() -> list[Study]:
    """A pilot and a main study on other items, archived so that they can be deleted."""
    found = [make_study(slug=slug, title=slug.title()) for slug in ("pilot", "main")]
    for study in found:
        run, raters = make_run(study=study), [make_rater(study=study) for _ in range(2)]
        for n in range(4):
            item = make_item(study=study, key=f"{study.slug}-{n}")
            for rater in raters:
                answer(rater, item, "r1")
            judge_item(run, item, "r2" if n else "r1", 80)
    return found


@pytest.fixture
def ada(waves) -> Client:
    ada, client = User.objects.create_user("ada"), Client()
    for study in waves:
        Membership.objects.create(user=ada, study=study, role="viewer")
    client.force_login(ada)
    return client


def built(client: Client, *slugs: str, **more: str) -> StudiesReport:
    answer = client.post(CHOOSE, {"studies": slugs, **more})
    assert answer.status_code == 302, answer.content.decode()
    report = StudiesReport.objects.get(public_id=answer.url.split("/")[-2])
    return build_queued(report_id=report.pk)


def done(user: str, *slugs: str) -> StudiesReport:
    """A report that was built, with a page alone."""
    owner = User.objects.get(username=user)
    report = StudiesReport.objects.create(requested_by=owner, slugs=list(slugs), state="done")
    (folder_of(report) / "report.html").save(b"<title>Side by side</title>")
    return report


def at(report: StudiesReport, name: str) -> str:
    return reverse("several_studies:file", args=[report.public_id, name])


@pytest.mark.nightly
@pytest.mark.usefixtures("added_files")
def test_two_studies_are_side_by_side_pooled_and_as_in_the_article(ada, waves):
    assert CHOOSE in ada.get(reverse("studies:list")).content.decode()
    twice = [ada.post(CHOOSE, {"studies": ["main", "pilot"], "is_pooled": "on"}) for _ in range(2)]
    assert twice[0].url == twice[1].url

    report = built(ada, "pilot", "main", is_pooled="on")

    assert (report.state, report.slugs) == ("done", ["pilot", "main"]), report.message
    page = ada.get(reverse("several_studies:show", args=[report.public_id])).content.decode()
    added = [
        f"{path}/{path}.html"
        for each in MORE
        if each.comes_with_pages
        for path in each.paths_across
    ]
    for name in ("report.html", "pooled/report.html", "main/report.html", *added):
        assert at(report, name) in page
        sent = ada.get(at(report, name))
        assert (sent.status_code, sent["Content-Type"]) == (200, "text/html")
        assert "script-src" in sent["Content-Security-Policy"]
    side_by_side = ada.get(at(report, "report.html")).content.decode()
    assert 'href="pilot/report.html"' in side_by_side
    assert "counts the people of pilot and main together" in side_by_side
    archive = ada.get(reverse("several_studies:download", args=[report.public_id]))
    names = zipfile.ZipFile(io.BytesIO(archive.getvalue())).namelist()
    assert {"report.html", "pooled/report.json", *added} <= {*names}


def test_others_and_those_who_left_a_study_see_nothing(ada, waves):
    report = done("ada", "pilot", "main")
    addresses = [
        reverse("several_studies:show", args=[report.public_id]),
        reverse("several_studies:download", args=[report.public_id]),
        at(report, "report.html"),
    ]
    assert {ada.get(address).status_code for address in addresses} == {200}
    admin = Client()
    admin.force_login(User.objects.create_superuser("root"))
    assert {admin.get(address).status_code for address in addresses} == {404}
    assert ada.get(at(report, "../reports/x.html")).status_code == 404

    Membership.objects.filter(study=waves[0]).delete()

    assert {ada.get(address).status_code for address in addresses} == {404}
    refused = ada.post(CHOOSE, {"studies": ["pilot", "main"]})
    assert refused.status_code == 422


@pytest.mark.parametrize("chosen", [[], ["pilot"], ["pilot", "nothing"]])
def test_fewer_than_two_studies_are_refused(ada, chosen):
    refused = ada.post(CHOOSE, {"studies": chosen})

    assert refused.status_code == 422
    assert not StudiesReport.objects.exists()


@pytest.mark.nightly
def test_studies_that_asked_different_things_are_not_pooled_and_the_page_says_why(ada, waves):
    Study.objects.filter(slug="main").update(certainty_threshold=70)

    report = built(ada, "pilot", "main", is_pooled="on")

    assert report.state == "done", report.message
    page = ada.get(reverse("several_studies:show", args=[report.public_id])).content.decode()
    assert "Open pooled" not in page
    together = ada.get(at(report, "report.html")).content.decode()
    assert (
        "pilot is not pooled with main: they differ in the threshold of high certainty." in together
    )


def test_studies_with_the_same_item_in_other_words_are_refused_and_the_page_says_why(ada, waves):
    for slug, question in (("pilot", "One?"), ("main", "Another?")):
        Item.objects.filter(key=f"{slug}-0").update(key="same", question=question)

    report = built(ada, "pilot", "main", is_pooled="on")

    page = ada.get(reverse("several_studies:show", args=[report.public_id])).content.decode()
    assert report.state == "failed"
    assert "Item same differs between the studies" in page
    assert f"{CHOOSE}?studies=pilot&amp;studies=main" in page


def test_files_go_with_the_data_in_them(ada, waves, django_capture_on_commit_callbacks):
    first = done("ada", "pilot", "main")
    assert content_of(waves[0]).folders == [folder_of(first)]

    with django_capture_on_commit_callbacks(execute=True):
        delete_files(waves[1], [])

    assert StudiesReport.objects.get().state == "gone"
    assert ada.get(at(first, "report.html")).status_code == 404
    assert not folder_of(first).files()
    second = done("ada", "pilot", "main")
    waves[1].archived_at = waves[1].created_at
    waves[1].save()
    with django_capture_on_commit_callbacks(execute=True):
        delete_study(study_id=waves[1].pk, by=None)
    assert not folder_of(second).files()
    assert second.public_id not in ada.get(CHOOSE).content.decode()
