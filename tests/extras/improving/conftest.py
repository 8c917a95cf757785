import random
from collections.abc import Callable
from typing import Any

import pytest

from judging.models import JudgeRun, Judgment
from tests.extras.in_browser import browser, open_page, signed_in
from tests.factories import make_item, make_persona, make_study, stored_at_once
from tests.judging.conftest import engine, llm, make_judge
from tests.judging.llm_server import Answer, completion
from tests.judging.run_helpers import start

__all__ = ["browser", "engine", "llm", "open_page", "signed_in"]

GUIDELINE = "Choose the kind response even if the question is hard."
PERSONAS, OF_PERSONA = 28, 4


def replies(*, heeds: bool) -> Callable[[dict[str, Any], int], Answer]:
    """A judge that errs on hard questions, unless it heeds the guideline that it wrote itself."""

    def answer(body: dict[str, Any], number: int) -> Answer:
        text = body["messages"][0]["content"]
        if "Write up to five guidelines" in text:
            return completion(f"Here they are:\n- {GUIDELINE}\n- No.")
        asked = text.rpartition("[Response A]")
        a = asked[2].partition("[Response B]")[0]
        question = asked[0].rpartition("[Question]")[2]
        kind = "A" if "kind" in a else "B"
        is_wrong = "hard" in question and not (heeds and GUIDELINE in text)
        return completion("[[A]]" if (kind == "A") != is_wrong else "[[B]]")

    return answer


@pytest.fixture
def run(llm, engine):
    """112 items of 28 personas with own answers, judged; a third is hard for the judge."""
    rng = random.Random(5)
    study = make_study(slug="taught", state="open")
    with stored_at_once():
        for p in range(PERSONAS):
            age = ("18-34", "35-54", "55+")[p % 3]
            persona = make_persona(
                study=study,
                key=f"p{p}",
                features=[{"key": "age", "label": "Age", "value": age, "text": f"Aged {age}."}],
            )
            for n in range(OF_PERSONA):
                kind = rng.choice(("r1", "r2"))
                texts = {"r1": f"A harsh reply {p}-{n}.", "r2": f"A harsh reply {p}-{n}."}
                texts[kind] = f"A kind reply {p}-{n}."
                level = "hard" if rng.random() < 1 / 3 else "easy"
                make_item(
                    study=study,
                    key=f"i{p:02}-{n}",
                    persona=persona,
                    question=f"A {level} question about topic{p} and matter{n}?",
                    r1={"text": texts["r1"]},
                    r2={"text": texts["r2"]},
                    first_person=kind,
                )
    llm.answer = replies(heeds=True)
    judge = make_judge(name="pupil", base_url=llm.url, price_input=1, price_output=1)
    found = start(study, judge, setting="standard")
    judgments = list(Judgment.objects.filter(run=found).select_related("item"))
    for judgment in judgments:
        right, is_hard = judgment.item.first_person, "hard" in judgment.item.question
        judgment.choice = {"r1": "r2", "r2": "r1"}[right] if is_hard else right
        judgment.state, judgment.replies = Judgment.State.DONE, 1
    Judgment.objects.bulk_update(judgments, ["choice", "state", "replies"])
    JudgeRun.objects.update(state=JudgeRun.State.DONE, sentence="Every item has an answer.")
    found.refresh_from_db()
    return found
