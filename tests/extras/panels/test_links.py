"""Links of panels: what lets somebody in, and what each fault says."""

import logging

import pytest
from django.conf import settings
from django.http import QueryDict
from django.test import Client

from annotation.models import Annotator
from annotation.services import enter
from extras.panels.entry import known_by
from extras.panels.links import link_to_paste, read_link, signed
from extras.panels.models import Panel, PanelPerson
from extras.panels.presets import presets
from studies.models import Study
from studies.services.extras import set_extras
from tests.extras.panels.builders import link_of, make_panel
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db
PRESETS = sorted(presets())


def opened(panel: Panel, **changes):
    base = settings.PUBLIC_BASE_URL if panel.signature else ""
    link = link_of(panel, base, **changes).removeprefix(settings.PUBLIC_BASE_URL)
    return Client().get(link)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_link_of_each_panel_lets_somebody_in_whose_row_names_the_panel(panel, preset):
    sending = panel(preset)

    response = opened(sending)

    assert response["Location"] == f"/s/{sending.study.slug}/consent/"
    person = PanelPerson.objects.get()
    assert (person.panel, person.person) == (sending, sending.kind.example["person"])
    assert sending.kind.example["person"] not in str(vars(person.annotator))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_link_without_the_person_opens_a_page_that_names_the_panel(panel, preset):
    sending = panel(preset)

    response = opened(sending, **{sending.person_parameter: None})

    page = response.content.decode()
    assert response.status_code == 400
    assert f"Open the study from {sending.title}" in page
    assert f"“{sending.person_parameter}” is missing" in page
    assert not Annotator.objects.exists()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_parameter_twice_lets_nobody_in(panel, preset):
    sending = panel(preset)
    link = link_of(sending, **{sending.person_parameter: None}) + (
        f"&{sending.person_parameter}=A3EXAMPLE7WORKER&{sending.person_parameter}=A3EXAMPLE8WORKER"
    )

    response = Client().get(link)

    assert response.status_code == 400
    assert f"has “{sending.person_parameter}” twice" in response.content.decode()
    assert not Annotator.objects.exists()


@pytest.mark.parametrize(
    ("preset", "person"),
    [
        ("mturk", "5f1d3b2c4a6e7d8091a2b3c4"),  # of Prolific
        ("sona", "A3EXAMPLE7WORKER"),
        ("qualtrics", "48213"),
        ("sona", "%SURVEY_CODE%"),
        ("cint", "[%RID%]"),
        ("qualtrics", "${e://Field/ResponseID}"),
        ("generic", "<script>"),
        ("generic", "a" * 129),
    ],
)
def test_the_id_of_another_panel_and_an_unfilled_placeholder_let_nobody_in(panel, preset, person):
    sending = panel(preset)

    response = opened(sending, **{sending.person_parameter: person})

    page = response.content.decode()
    assert response.status_code == 400
    assert f"is not what {sending.title} sends" in page
    assert person not in page
    assert not Annotator.objects.exists()


@pytest.mark.parametrize(
    "host",
    [
        "https://evil.example",
        "http://www.mturk.com",
        "https://www.mturk.com.evil.example",
        "https://www.mturk.com@evil.example",
        "https://www.mturk.com:444",
        "https://[",
        "javascript:alert(1)",
    ],
)
def test_a_result_is_submitted_to_a_host_of_mturk_only(panel, host):
    response = opened(panel("mturk"), turkSubmitTo=host)

    assert response.status_code == 400
    assert "“turkSubmitTo” in this link is not what MTurk sends" in response.content.decode()
    assert not Annotator.objects.exists()


def test_a_preview_on_mturk_shows_no_study_and_stores_nothing(panel):
    sending = panel("mturk")

    response = opened(
        sending, assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE", workerId=None, turkSubmitTo=None
    )

    page = response.content.decode()
    assert response.status_code == 200
    assert "Accept the task on MTurk first" in page
    assert "<form" not in page
    assert not Annotator.objects.exists()
    assert "frame-ancestors https://worker.mturk.com" in response["Content-Security-Policy"]
    assert "X-Frame-Options" not in response


def test_pages_of_other_panels_are_shown_in_no_frame(panel):
    response = opened(panel("sona"), id=None)

    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]
    assert response["X-Frame-Options"] == "DENY"


# The example of the panel's documentation: the message ends with the name of the parameter.
DOCUMENTED = "NPJPxGx_-1vHe0T1q4tt-MyWnQ4"


def test_a_signature_is_that_of_the_panels_documentation(panel, settings):
    sending = panel("lucid", person_parameter="vid", signature_parameter="oenc2")
    settings.PUBLIC_BASE_URL = "https://www.abc.com"
    query = f"abc=def&vid=12345678&oenc2={DOCUMENTED}"

    with pytest.raises(Exception, match="signature"):
        read_link(sending, QueryDict(query), f"https://www.abc.com/ex.aspx?{query}")

    sending.person_parameter = "abc"
    query = f"abc=def&vid=123&oenc2={DOCUMENTED}"
    with pytest.raises(Exception, match="foreign: abc"):  # the signature was accepted
        read_link(sending, QueryDict(query), f"https://www.abc.com/ex.aspx?{query}")


@pytest.mark.parametrize("change", ["id", "signature", "after", "none", "other secret"])
def test_a_signature_that_does_not_match_is_logged_without_the_id(panel, caplog, change):
    sending = panel("lucid")
    link = link_of(sending, settings.PUBLIC_BASE_URL)
    person = sending.kind.example["person"]
    changed = {
        "id": link.replace(person, person[::-1]),
        "signature": link[:-3] + "abc",
        "after": f"{link}&RIS=10",
        "none": link.partition("&hash=")[0],
        "other secret": signed(
            make_panel(sending.study, "lucid", name="two", signature="sha256"),
            link.partition("&hash=")[0],
        ),
    }[change]

    with caplog.at_level(logging.INFO):
        response = Client().get(changed.removeprefix(settings.PUBLIC_BASE_URL))

    assert response.status_code == 400
    assert not Annotator.objects.exists()
    ours = [
        record.getMessage() for record in caplog.records if "panel lucid" in record.getMessage()
    ]
    assert len(ours) == (0 if change == "none" else 1)
    assert all(person not in message and person[::-1] not in message for message in ours)


def test_one_id_at_two_panels_and_on_a_list_are_three_people(panel):
    first, second = panel("cint"), panel("generic", name="other")
    person = "48213-48213"
    third = make_panel(first.study, "generic", name="third")

    for sending in (first, second, third):
        opened(sending, **{sending.person_parameter: person})

    assert Annotator.objects.count() == 3
    assert len(set(Annotator.objects.values_list("identity_hash", flat=True))) == 3


def test_a_worker_of_mturk_is_known_in_a_related_study(panel):
    sending = panel("mturk")
    opened(sending)
    Annotator.objects.update(consented_at="2026-01-01T00:00Z")
    later = make_study(slug="later", entry="list")
    make_items(later, 2)
    later.related_studies.create(related=sending.study)
    again = make_panel(later, "mturk", name="workers")

    response = opened(again)

    assert "You have taken part in a related study" in response.content.decode()
    assert known_by(again, sending.kind.example["person"]) is None


def test_another_browser_needs_the_session_that_was_seen(panel):
    sending = panel("mturk")
    opened(sending)

    assert opened(sending)["Location"].endswith("/consent/")  # the same session
    refused = opened(sending, assignmentId="3OTHERASSIGNMENT")

    assert refused.status_code == 403
    assert "You began in another browser" in refused.content.decode()
    assert PanelPerson.objects.get().sessions == [sending.kind.example["session"]]


def test_somebody_who_comes_from_two_panels_in_one_browser_is_noted_with_both(panel):
    first, second = panel("mturk"), panel("sona")
    client = Client()

    client.get(link_of(first))
    client.get(link_of(second))

    one, two = Annotator.objects.order_by("pk")
    assert one.events.get(event="same browser").detail == {"with": two.pseudonym}
    assert two.events.get(event="same browser").detail == {"with": one.pseudonym}


def test_an_unsigned_id_is_a_claim_that_must_answer_soon(panel):
    opened(panel("sona"))
    opened(panel("lucid"))

    claimed, vouched = Annotator.objects.order_by("pk")
    assert claimed.first_answer_by is not None
    assert vouched.first_answer_by is None


@pytest.mark.parametrize(
    ("preset", "query"),
    [
        ("mturk", ""),
        ("connect", ""),
        ("sona", "?id=%SURVEY_CODE%"),
        ("lucid", "?RID=[%RID%]"),
        ("qualtrics", "?ResponseID=${e://Field/ResponseID}&SurveyID=${e://Field/SurveyID}"),
        ("generic", "?pid=ID"),
    ],
)
def test_the_link_to_paste_has_the_panels_own_placeholders(panel, preset, query):
    sending = panel(preset)

    link = link_to_paste(sending)

    assert link == f"{settings.PUBLIC_BASE_URL}/s/{sending.study.slug}/from/{preset}/{query}"


def test_prefetching_a_link_begins_nothing(panel):
    response = Client(headers={"Sec-Purpose": "prefetch"}).get(link_of(panel("sona")))

    assert response.status_code == 403
    assert not Annotator.objects.exists()


def test_a_panels_id_on_the_studys_list_does_not_open_the_study(panel):
    sending = panel("sona")
    opened(sending)

    with pytest.raises(Exception, match="not on the study's list"):
        enter(study=sending.study, pid=sending.kind.example["person"])


def test_without_the_extra_there_is_no_link(panel):
    sending = panel("sona")
    Study.objects.update(state="closed")
    set_extras(Study.objects.get(), set())

    assert opened(sending).status_code == 404
