"""A search that is under way keeps the extra on."""

import pytest

from extras.rules.models import RuleSearch
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import start

pytestmark = pytest.mark.django_db


def test_a_search_ends_first():
    study = make_study(slug="s")
    make_items(study, 2)
    run = start(study, make_judge(base_url="http://127.0.0.1:9/v1"))
    RuleSearch.objects.create(study=study, run=run, judge_name="")
    assert refusal(study, "rules") == "A search for rules is in progress. Wait for its end."

    RuleSearch.objects.update(state="done")
    turn_off(study, "rules")
