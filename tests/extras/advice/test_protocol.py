"""A judge that is asked before and after an item's advice."""

import json

import pytest

from judging.engine.messages import chat
from judging.errors import ConflictingValue
from judging.models import Attempt, Judgment
from judging.prompts.asking import Asking
from judging.protocols.registry import protocol
from tests.factories import make_item, make_study
from tests.judging.llm_server import completion
from tests.judging.run_helpers import judge_all, start

pytestmark = pytest.mark.django_db(transaction=True)

ADVICE = {"kind": "debate", "title": "Two say", "text": "Take {{ bands }}!", "favors": "r2"}


@pytest.fixture
def study():
    study = make_study()
    for n in range(3):
        make_item(study=study, key=f"i{n}", advice=ADVICE if n < 2 else {})
    return study


def follows(body, number):
    """A planted judge: first the second response, then the first, whatever the order."""
    is_first_step = len(body["messages"]) == 1
    prompt = body["messages"][0]["content"]
    is_second_at_a = prompt.index("Second response") < prompt.index("First response")
    wants_second = is_first_step
    side = "A" if wants_second == is_second_at_a else "B"
    return completion(f"{side}]] [[{70 if is_first_step else 90}]]")


@pytest.mark.parametrize(
    ("text", "earlier", "read"),
    [
        ("A]] [[70]]", (), (None, None, {}, True)),
        ("A]]", (), (None, None, {}, False)),
        ("nothing", (), (None, None, {}, False)),
        (
            "B]] [[80]]",
            ("A]] [[70]]",),
            ("B", 80, {"before_advice": {"choice": "A", "certainty": 70}}, False),
        ),
        ("nothing", ("A]] [[70]]",), (None, None, {}, False)),
    ],
)
def test_each_step_needs_a_choice_and_a_certainty(text, earlier, read):
    verdict = protocol("advice").read(text, earlier=earlier)

    assert (verdict.side, verdict.certainty, verdict.details, verdict.continues) == read


def test_both_answers_are_stored_by_content_in_both_orders(study, judge, llm):
    llm.answer = follows

    run = judge_all(study, judge, setting="advice", orders="both")

    rows = Judgment.objects.filter(run=run, item__advice__kind="debate")
    assert rows.count() == 4
    for row in rows:
        assert (row.choice, row.certainty) == ("r1", 90)
        assert row.details == {"before_advice": {"choice": "r2", "certainty": 70}}
        assert len(row.earlier_replies) == 1
    skipped = Judgment.objects.filter(run=run, state="skipped")
    assert {(row.item.key, row.error) for row in skipped} == {("i2", "The item has no advice.")}
    assert len(llm.requests) == Attempt.objects.count() == 8
    assert run.state == "done"


def test_the_server_gets_the_advice_in_the_second_step_and_no_slot_in_it_is_filled(
    study, judge, llm
):
    llm.answer = follows

    run = judge_all(study, judge, setting="advice", orders="r1_first")

    row = Judgment.objects.filter(run=run, item__key="i0").get()
    messages = Asking.of(run).messages(row.item, shown_first="r1")
    second = [b["messages"] for b in llm.requests if len(b["messages"]) == 3]
    expected = chat((messages[0], messages[1]))
    assert [expected[0], {"role": "assistant", "content": row.earlier_replies[0]}, expected[1]] in (
        second
    )
    assert "Two say\n\nTake {{ bands }}!" in json.dumps(expected[1]["content"], indent=1).replace(
        "\\n", "\n"
    )
    assert all("Two say" not in b["messages"][0]["content"] for b in llm.requests)


def test_a_study_without_advice_refuses_the_setting(judge):
    study = make_study()
    make_item(study=study)

    with pytest.raises(ConflictingValue, match="The item has no advice"):
        start(study, judge, setting="advice")
