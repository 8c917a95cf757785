"""Reports, exports and cards tell what people agreed to, not what the study says today."""

import pytest
from django.test import Client

from annotation.models import Annotator
from studies.models import Study
from studies.services.settings import save_settings
from tests.analysis.partial import report_of
from tests.annotation.pages.walking import arrive
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db


def agree(study: Study, number: int) -> None:
    client = arrive(study, f"{number:024}", Client())
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes", "agree-0": "yes"})


@pytest.fixture
def study():
    study = make_study(
        consent="Please take part.\n\n- [ ] I am an adult.",
        reward=450,
        minutes=20,
        contact="first@example.org",
    )
    make_item(study=study)
    agree(study, 1)
    agree(study, 2)
    study.reward, study.minutes = 900, 45
    # On Prolific, the pay is fixed once somebody has agreed to it; versions before let it change.
    Study.objects.update(entry="link")
    save_settings(study, changed=["reward", "minutes"])
    Study.objects.update(entry="prolific")
    agree(study, 3)
    Annotator.objects.update(state="completed")
    return study


def test_pay_is_what_each_was_promised(study):
    pay = report_of(study)["human"]["pay"]

    assert (pay["finished"], pay["rewards"]) == (3, 18.0)
    assert [(each["people"], each["reward"], each["minutes"]) for each in pay["promised"]] == [
        (2, 4.5, 20),
        (1, 9.0, 45),
    ]


def test_rewards_in_two_currencies_have_no_sum(study):
    Study.objects.update(currency="EUR")
    agree(study, 4)
    Annotator.objects.update(state="completed")

    pay = report_of(study)["human"]["pay"]

    assert (pay["rewards"], pay["rewards_reason"]) == (None, "several_currencies")
    assert {each["currency"] for each in pay["promised"]} == {"EUR", "USD"}


def test_the_log_has_the_old_and_the_new_value(study):
    detail = study.log.get(event="settings changed").detail

    assert detail["before"] == {"minutes": 20, "reward": 450}
    assert detail["after"]["reward"] == 900
