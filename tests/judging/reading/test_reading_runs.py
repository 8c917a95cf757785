"""Runs that read leniently or strictly, on their pages and in their files."""

import pytest
from django.urls import reverse

from judging.errors import InvalidValue
from tests.factories import make_items, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import LlmServer, completion
from tests.judging.run_helpers import judge_all, start

PROSE = "Given the profile, this person would prefer Response B. I am 70% certain."


@pytest.fixture
def study(transactional_db):
    study = make_study(slug="s")
    make_items(study, 1)
    return study


def test_a_lenient_run_reads_prose_and_a_strict_one_asks_again(study, judge, llm: LlmServer):
    llm.answer = lambda body, n: completion(PROSE)

    lenient = judge_all(study, judge, setting="certainty", orders="r1_first")
    asked = len(llm.requests)
    strict = judge_all(study, judge, setting="certainty", orders="r1_first", reading="strict")

    found = lenient.judgments.get()
    assert (found.choice, found.certainty, found.details) == ("r2", 70, {"read": "words"})
    assert asked == 1
    assert strict.pk != lenient.pk
    assert strict.judgments.get().state == "unparseable"
    assert len(llm.requests) > 2

    client = sign_in(study)
    page = client.get(reverse("judging:run", args=["s", lenient.public_id])).content.decode()
    assert "a sentence that chooses" in page
    assert "Lenient" in page
    rows = client.get(
        reverse("judging:run", args=["s", lenient.public_id]), {"format": "csv"}
    ).content.decode()
    header, row = rows.strip().splitlines()[:2]
    assert "read_as" in header
    assert "words" in row


def test_another_reading_is_refused(study):
    judge = make_judge(name="one", base_url="http://127.0.0.1:9/v1")

    with pytest.raises(InvalidValue, match="must be strict or lenient, not “kind”"):
        start(study, judge, reading="kind")
