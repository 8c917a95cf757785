"""Sharing a report by link: who may, what it opens, and that it ends."""

import json
import re
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from analysis.errors import BadParameters
from analysis.lifecycle.requests import delete_report
from analysis.models import Report
from analysis.report import section
from annotation.models import Annotation
from extras.report_readers.links.copies import NotShareable
from extras.report_readers.links.links import HELD, hash_key, open_link, revoke_link, share_report
from extras.report_readers.models import ShareLink
from studies.held_copies import PersonIn
from studies.models import Membership
from studies.services.accounts import team
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return User.objects.create_user("owner")


@pytest.fixture
def report(finished, owner):
    study, report = finished
    Membership.objects.create(user=owner, study=study, role="owner")
    return report


def address(report, name="share_links:links"):
    return reverse(name, args=[report.study.slug, report.public_id])


def shared(link, key, name="report"):
    return f"{reverse(f'shared:{name}', args=[link.public_id])}?key={key}"


def text(response) -> str:
    streamed = b"".join(response.streaming_content) if response.streaming else response.content
    return streamed.decode()


@pytest.mark.nightly
def test_a_link_opens_the_report_without_an_account(client, report, owner):
    link, key = share_report(report_id=report.pk, user=owner)

    page = client.get(shared(link, key))
    file = client.get(shared(link, key, "file"))

    assert (page.status_code, file.status_code) == (200, 200)
    assert report.result["headline"]["sentences"][0] in page.content.decode()
    shown = text(file)
    assert "Accuracy by certainty" in shown
    assert "· v1 ·" in shown
    assert client.cookies == {}
    link.refresh_from_db()
    assert link.opened == 1


@pytest.mark.nightly
def test_only_a_hash_of_the_key_is_stored_anywhere(report, owner):
    link, key = share_report(report_id=report.pk, user=owner, note="journal")

    assert link.key_hash == hash_key(key)
    logged = json.dumps(list(report.study.log.values_list("detail", flat=True)))
    assert key not in logged
    assert link.public_id in logged


@pytest.mark.parametrize("end", ["expired", "revoked", "wrong key", "no key", "unknown"])
def test_an_address_that_does_not_open_answers_like_one_that_never_was(client, report, owner, end):
    link, key = share_report(report_id=report.pk, user=owner)
    target = link.public_id
    if end == "expired":
        ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif end == "revoked":
        assert revoke_link(link_id=link.pk, user=owner)
    elif end == "unknown":
        target = "x" * 22
    query = {"wrong key": {"key": "y" * 43}, "no key": {}}.get(end, {"key": key})
    nowhere = client.get(reverse("shared:report", args=["z" * 22]))

    for name in ("report", "file", "files"):
        response = client.get(reverse(f"shared:{name}", args=[target]), query)
        assert response.status_code == 404
        assert response.content == nowhere.content


def test_a_link_of_one_report_opens_no_other(report, owner):
    _, key = share_report(report_id=report.pk, user=owner)
    other, _ = share_report(report_id=report.pk, user=owner)

    assert open_link(public_id=other.public_id, key=key) is None


def test_what_is_shared_holds_no_row_about_a_person_or_an_item(client, report, owner):
    link, key = share_report(report_id=report.pk, user=owner)

    code = re.compile(r"<script type=.module.[^>]*>.*?</script>", re.DOTALL)
    page = code.sub("", text(client.get(shared(link, key, "file"))))

    whole = report.result
    assert "P-0" in json.dumps(whole["human"]["raters"])
    for rater in whole["human"]["raters"]:
        assert rater["rater"] not in page
    for item in whole["items"]:
        assert item["item"] not in page
        assert item["persona"] not in page
        assert item["question"] not in page
    # Both personas of this study have an age of their own: a group of one is nobody's business.
    assert "35-44" not in page


def test_what_is_shared_is_kept_by_no_cache_and_no_search_engine(client, report, owner):
    link, key = share_report(report_id=report.pk, user=owner)

    for name in ("report", "file"):
        response = client.get(shared(link, key, name))
        assert "noindex" in response["X-Robots-Tag"]
        assert response["Cache-Control"] == "no-store"
        assert response["Referrer-Policy"] == "no-referrer"
        assert "default-src" in response["Content-Security-Policy"]
        assert text(response)


def test_a_shared_page_links_to_nowhere_else(client, report, owner, settings):
    link, key = share_report(report_id=report.pk, user=owner)

    page = client.get(shared(link, key)).content.decode()

    assert 'content="no-referrer"' in page
    assert set(re.findall(r"https?://[^/\"]+", page)) <= {settings.PUBLIC_BASE_URL}
    assert report.study.slug not in page


def test_a_report_whose_answers_were_withdrawn_is_marked_wherever_it_is_shown(
    client, report, owner
):
    link, key = share_report(report_id=report.pk, user=owner)
    Annotation.objects.filter(pk=Annotation.objects.first().pk).update(standing="withdrawn")
    client.force_login(owner)

    pages = [shared(link, key), address(report, "analysis:report")]
    pages.append(reverse("analysis:list", args=[report.study.slug]))

    for page in pages:
        assert "uperseded" in client.get(page).content.decode(), page


def test_the_page_shows_a_new_link_once_and_it_works(client, report, owner):
    client.force_login(owner)

    made = client.post(address(report), {"note": "the journal", "days": 7})

    link = ShareLink.objects.get()
    new = made.context["new"]
    client.logout()
    parts = urlsplit(new)
    assert client.get(f"{parts.path}?{parts.query}").status_code == 200
    client.force_login(owner)
    again = client.get(address(report)).content.decode()
    assert "the journal" in again
    assert parts.query.removeprefix("key=") not in again
    assert made["Cache-Control"] == "no-store"
    assert link.expires_at - timezone.now() < timedelta(days=7)


def test_a_link_of_another_study_cannot_be_ended(client, report, owner):
    link, _ = share_report(report_id=report.pk, user=owner)
    stranger = User.objects.create_user("stranger")
    study = make_study()
    Membership.objects.create(user=stranger, study=study, role="owner")
    other = Report.objects.create(study=study, number=1, threshold=80, bootstrap=100, seed=1)
    client.force_login(stranger)

    response = client.post(
        reverse("share_links:links", args=[study.slug, other.public_id]),
        {"action": "end", "link": link.public_id},
    )

    assert response.status_code == 404
    link.refresh_from_db()
    assert link.is_valid


@pytest.mark.parametrize("days", [0, 366])
def test_a_link_lasts_from_a_day_to_a_year(client, report, owner, days):
    with pytest.raises(BadParameters, match="Use 1 to 365"):
        share_report(report_id=report.pk, user=owner, days=days)
    client.force_login(owner)

    assert client.post(address(report), {"days": days}).status_code == 422
    assert not ShareLink.objects.exists()


def test_a_report_that_is_not_done_cannot_be_shared(owner):
    study = make_study()
    waiting = Report.objects.create(study=study, number=1, threshold=80, bootstrap=100, seed=1)

    with pytest.raises(NotShareable, match="once it is finished"):
        share_report(report_id=waiting.pk, user=owner)


@pytest.mark.parametrize("key", ["registration", "headline"])
def test_a_report_that_an_older_version_computed_is_built_again_first(
    report, owner, key, monkeypatch
):
    monkeypatch.setattr(section, "RAISES", False)
    del report.result[key]
    report.save(update_fields=["result"])

    with pytest.raises(NotShareable, match="older version of Thirdperson built this report"):
        share_report(report_id=report.pk, user=owner)


def test_links_end_with_their_report(report, owner):
    link, _ = share_report(report_id=report.pk, user=owner)

    delete_report(report_id=report.pk, user=owner)

    link.refresh_from_db()
    assert link.revoked_at is not None


def test_a_person_finds_the_links_to_reports_about_them_and_they_can_be_ended(report, owner):
    link, _ = share_report(report_id=report.pk, user=owner, note="Ada")
    annotator = report.study.annotators.first()
    person = PersonIn(report.study, annotator.pseudonym, report.study.created_at, None)

    (copy,) = HELD.copies(person)
    assert copy.remove is not None
    copy.remove(user=owner)

    assert copy.label == "Link to report v1 for Ada"
    link.refresh_from_db()
    assert not link.is_valid
    assert list(HELD.copies(person)) == []


def test_links_of_a_former_owner_end_unless_they_are_kept(report, owner):
    leaving = User.objects.create_user("eve")
    Membership.objects.create(user=leaving, study=report.study, role="owner")
    ends, stays = (
        share_report(report_id=report.pk, user=leaving, note=note)[0]
        for note in ("a friend", "the journal")
    )
    granted = team.granted_by(report.study, leaving.pk)
    assert [each.label for each in granted] == [
        "link to report 1 for the journal",
        "link to report 1 for a friend",
    ]

    team.hand_over(
        study_id=report.study_id,
        to=owner.pk,
        by=leaving,
        keep=[f"link {stays.public_id}"],
        afterwards="",
    )

    for link in (ends, stays):
        link.refresh_from_db()
    assert (ends.is_valid, stays.is_valid, stays.created_by) == (False, True, owner)
