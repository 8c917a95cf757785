"""Whole ways of people of panels without JavaScript: every ending, and where each leads."""

import re
from collections import Counter
from datetime import timedelta
from html import unescape
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from annotation.content.comprehension import set_questions, standard_questions
from annotation.models import Annotation, Annotator, CompletionCode, DemographicQuestion, QuotaGroup
from extras.panels.links import signed
from extras.panels.models import Panel, PanelPerson
from extras.panels.presets import presets
from extras.panels.returns import fill
from extras.panels.simulated_panel import SimulatedPanel
from studies.models import Study
from tests.annotation.pages.walking import answer_all
from tests.extras.panels.builders import make_panel
from tests.factories import make_items, make_study
from tests.together import run_together

pytestmark = pytest.mark.django_db
PRESETS = sorted(presets())


class Way:
    """One browser that a simulated panel sends into the study."""

    def __init__(self, panel: Panel, link: str = "", **sent: str) -> None:
        self.panel, self.simulated = panel, SimulatedPanel(panel)
        self.simulated.sent = {**self.simulated.sent, **sent}
        self.client, self.base = Client(), f"/s/{panel.study.slug}/"
        self.link = link or self.simulated.link.removeprefix(settings.PUBLIC_BASE_URL)
        self.page = ""
        self.headers: dict[str, str] = {}
        self.opens()

    def opens(self) -> None:
        self._keep(self.client.get(self.link, follow=True))

    def sends(self, step: str, **fields: str) -> None:
        self._keep(self.client.post(f"{self.base}{step}/", fields, follow=True))

    def _keep(self, response) -> None:
        self.page = unescape(response.content.decode())
        self.headers = response.headers

    def completes(self) -> None:
        self.sends("consent", consent="yes")
        self.sends("instructions")
        answer_all(self.client, self.panel.study)
        self.sends("feedback")

    def received(self):
        """What the panel reads when the person presses the button of the last page."""
        if match := re.search(r'<a class="button" href="([^"]+)" id="return"', self.page):
            return self.simulated.receive(match[1])
        form = re.compile(r'<form method="post" action="(https://[^"]+)"(.*?)</form>', re.DOTALL)
        if match := form.search(self.page):
            fields = re.findall(r'name="(\w+)" value="([^"]*)"', match[2])
            return self.simulated.receive(match[1], dict(fields))
        return None


@pytest.mark.parametrize("preset", PRESETS)
def test_who_completes_goes_back_as_complete(panel, preset):
    way = Way(panel(preset))

    way.completes()

    assert "You have finished. Thank you." in way.page
    assert "rolific" not in way.page
    received = way.received()
    assert received.fault == ""
    # The redirect of Connect names the project; it knows people by their sign-in.
    assert bool(received.person) == (preset != "connect")
    # Any panel has addresses of its own: the simulated one only recognises people there.
    assert received.ending == ("" if preset in ("generic", "qualtrics") else "complete")
    if preset in ("generic", "qualtrics"):
        assert fill(way.panel.complete, {"person": received.person}) in way.page
    assert Annotator.objects.get().state == "completed"


@pytest.mark.parametrize("preset", PRESETS)
def test_who_fails_the_comprehension_check_goes_back_as_screened_out(panel, preset):
    sending = panel(preset)
    set_questions(study_id=sending.study_id, questions=standard_questions(sending.study)[:1])
    way = Way(sending)
    way.sends("consent", consent="yes")
    way.sends("instructions")
    question = sending.study.comprehension_questions.get()
    wrong = next(n for n in range(len(question.options)) if n != question.right)

    for attempt in ("1", "2"):
        way.sends("quiz/1", answer=str(wrong), **{"try": attempt})

    assert Annotator.objects.get().state == "disqualified"
    expect_ending(way, "screened_out")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("entry", ["list", "prolific", "link"])
def test_who_meets_a_full_group_goes_back_as_over_quota(panel, preset, entry):
    """Whatever the study's own entry: on Prolific alone nobody may be turned away unpaid."""
    sending = panel(preset)
    Study.objects.update(entry=entry)
    DemographicQuestion.objects.create(
        study=sending.study, key="age", label="Age?", options=[{"value": "a", "label": "A"}]
    )
    QuotaGroup.objects.create(study=sending.study, is_everyone_else=True, target=0)
    way = Way(sending)
    way.sends("consent", consent="yes")

    way.sends("about", attr_age="a")

    assert Annotator.objects.get().state == "quota_full"
    expect_ending(way, "over_quota")


@pytest.mark.parametrize("preset", PRESETS)
def test_who_does_not_agree_and_who_withdraws_goes_back_as_withdrawn(panel, preset):
    sending = panel(preset)
    way = Way(sending)
    way.sends("consent", consent="no")
    expect_ending(way, "withdrew")

    Annotator.objects.update(state="annotating", ended_at=None)
    way.sends("withdraw")
    assert Annotator.objects.get().state == "withdrew"
    expect_ending(way, "withdrew")


@pytest.mark.parametrize("preset", PRESETS)
def test_who_comes_to_a_closed_study_goes_back_as_over_quota(panel, preset):
    sending = panel(preset)
    Study.objects.update(state="closed")

    way = Way(sending)

    assert "The study is closed" in way.page
    assert not Annotator.objects.exists()
    expect_ending(way, "over_quota")


def expect_ending(way: Way, kind: str) -> None:
    """The address of this ending, understood by the panel; without one, words about the place."""
    address = getattr(way.panel, kind)
    assert "rolific" not in way.page
    if not address:
        assert way.received() is None
        assert f"Please give your place back on {way.panel.title}" in way.page
        return
    received = way.received()
    person = way.simulated.sent[way.panel.person_parameter]
    assert (received.fault, received.person) == ("", person)
    assert received.ending != "complete"
    expected = fill(address, {"person": person})
    expected = signed(way.panel, expected) if way.panel.signs_returns else expected
    assert f'href="{expected}"' in way.page


@pytest.mark.parametrize("own_address", [True, False])
def test_who_failed_attention_checks_has_done_the_work(panel, own_address):
    sending = panel("generic", **({} if own_address else {"failed": ""}))
    way = Way(sending)
    way.completes()
    Annotator.objects.update(failed_attention=True)

    way.opens()

    kind = "failed" if own_address else "complete"
    assert f'href="https://panel.example.org/{kind}?pid=p-48213"' in way.page


def test_a_result_is_submitted_to_mturk_by_a_form_that_the_page_may_send(panel):
    way = Way(panel("mturk"))
    way.completes()

    received = way.received()

    assert (received.ending, received.fault) == ("complete", "")
    assert 'action="https://www.mturk.com/mturk/externalSubmit"' in way.page
    assert f'name="assignmentId" value="{way.simulated.sent["assignmentId"]}"' in way.page
    assert "form-action 'self' https://www.mturk.com;" in way.headers["Content-Security-Policy"]


def test_pages_of_other_panels_may_send_forms_to_nobody_else(panel):
    way = Way(panel("sona"))
    way.completes()

    assert "form-action 'self';" in way.headers["Content-Security-Policy"]


def test_connect_shows_the_projects_code_or_the_studys(panel):
    by_code = {"complete": "", "pay": "codes"}
    own = Way(panel("connect", **by_code))
    own.completes()
    code = CompletionCode.objects.get(ending="completed").code
    assert "Enter this code on Connect:" in own.page
    assert code in own.page

    sending = panel("connect", name="two", complete="", complete_code="C0NN3CT")
    theirs = Way(sending, participantId="F5C1D2E3F4A5968778695A4B3C2D1E0F")
    theirs.completes()
    assert "C0NN3CT" in theirs.page
    assert code not in theirs.page


def test_no_value_of_a_link_changes_the_return_address(panel):
    sending = panel(
        "generic",
        session_parameter="visit",
        complete="https://panel.example.org/c?p={person}&v={session}",
    )
    way = Way(sending, pid="a=b:c+d/e|f", visit="1=2/..+/x")

    way.completes()

    address = re.search(r'href="(https://panel[^"]+)"', way.page)[1]
    assert address == ("https://panel.example.org/c?p=a%3Db%3Ac%2Bd%2Fe%7Cf&v=1%3D2%2F..%2B%2Fx")
    assert urlsplit(address).netloc == "panel.example.org"


def test_a_second_visit_of_the_link_shows_the_same_ending(panel):
    way = Way(panel("qualtrics"))
    way.completes()
    first = way.received()

    way.opens()

    assert way.received() == first
    assert Annotator.objects.count() == 1


def test_in_the_frame_of_mturk_the_study_opens_in_a_tab_and_the_form_comes_after_the_end(panel):
    sending = panel("mturk")
    simulated = SimulatedPanel(sending)
    link = simulated.link.removeprefix(settings.PUBLIC_BASE_URL)
    frame = Client(headers={"Sec-Fetch-Dest": "iframe"})

    opened_page = frame.get(link)
    page = unescape(opened_page.content.decode())
    assert not Annotator.objects.exists()
    assert "frame-ancestors https://worker.mturk.com" in opened_page["Content-Security-Policy"]
    tab = re.search(r'href="([^"]+)" target="_blank"', page)[1]
    assert "externalSubmit" not in page

    way = Way(sending, tab)
    way.completes()
    assert "Go back to the tab of MTurk" in way.page
    assert way.received() is None

    after = frame.get(link)
    page = unescape(after.content.decode())
    assert 'action="https://www.mturk.com/mturk/externalSubmit"' in page
    assert "form-action 'self' https://www.mturk.com" in after["Content-Security-Policy"]


def test_two_panels_share_one_place_in_a_group(study):
    first, second = make_panel(study, "sona"), make_panel(study, "cint")
    DemographicQuestion.objects.create(
        study=study, key="age", label="Age?", options=[{"value": "a", "label": "A"}]
    )
    group = QuotaGroup.objects.create(study=study, criteria={"age": "a"}, target=1)
    for sending in (first, second):
        way = Way(sending)
        way.sends("consent", consent="yes")
        way.sends("about", attr_age="a")

    group.refresh_from_db()
    assert group.reserved == 1
    assert [*Annotator.objects.order_by("pk").values_list("state", flat=True)] == [
        "screened",
        "quota_full",
    ]


@pytest.mark.django_db(transaction=True)
def test_two_panels_under_load_fill_the_one_seat_that_is_left_once(settings):
    settings.LINK_STARTS_PER_HOUR = 0  # All have one address.
    study = make_study(entry="list", items_per_annotator=1, annotations_per_item=1)
    make_items(study, 1)
    panels = [make_panel(study, "sona"), make_panel(study, "cint")]

    def comes(number: int) -> None:
        sending = panels[number % 2]
        person = str(48000 + number) if sending.preset == "sona" else f"person-{number:04}"
        way = Way(sending, **{sending.person_parameter: person})
        way.sends("consent", consent="yes")
        way.sends("instructions")
        answer_all(way.client, study)
        way.sends("feedback")
        assert "You have finished" in way.page

    errors = run_together(comes, list(range(8)))

    assert errors == []
    assert study.all_items.get().seats_taken == 1
    standings = Annotation.objects.values_list("standing", flat=True)
    assert Counter(standings) == {"counted": 1, "surplus": 7}
    assert Counter(PanelPerson.objects.values_list("panel__preset", flat=True)) == {
        "sona": 4,
        "cint": 4,
    }


def test_near_the_limit_nobody_of_a_panel_reads_of_prolific(panel):
    sending = panel("sona")
    Study.objects.update(entry="prolific")
    way = Way(sending)
    way.sends("consent", consent="yes")
    Annotator.objects.update(expires_at=timezone.now() + timedelta(minutes=5))

    way.opens()

    assert "I need more time" in way.page
    assert "rolific" not in way.page
