"""Judges that are asked what people are asked, in the words that people see."""

import pytest
from django.utils import translation

from extras.graded.asking import HOW_GOOD
from extras.graded.models import Grades
from judging.models import Judgment
from judging.protocols.registry import protocol
from judging.protocols.texts import texts
from tests.extras.graded.answering import make_graded_study
from tests.judging.llm_server import completion
from tests.judging.run_helpers import judge_all


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("A]] [[2]]", ("A", {"strength": 2})),
        ("[[B]] [[3]]", ("B", {"strength": 3})),
        ("[[A]]", (None, {})),
        ("[[B]] [[4]]", (None, {})),
        ("[[A]] [[1]] [[2]]", (None, {})),
        ("The first one, clearly.", (None, {})),
    ],
)
def test_a_strength_needs_a_choice_and_one_number_from_1_to_3(text, read):
    verdict = protocol("strength").read(text)

    assert (verdict.side, verdict.details) == read


@pytest.mark.django_db(transaction=True)
def test_strengths_and_scores_are_stored_by_content(judge, llm):
    study = make_graded_study(items=1)

    def answers(body, number):
        prompt = body["messages"][0]["content"]
        if "[Response A]" in prompt:
            first_at_a = prompt.index("First response") < prompt.index("Second response")
            return completion(f"{'A' if first_at_a else 'B'}]] [[3]]")
        assert "from 1 (not at all) to 5 (completely)" in prompt
        return completion("5]]" if "First response" in prompt else "2]]")

    llm.answer = answers
    judge_all(study, judge, setting="strength", orders="both")
    judge_all(study, judge, setting="score-5", orders="both")

    rows = Judgment.objects.order_by("run", "shown_first").values_list("choice", "details")
    strengths, scores = {"strength": 3}, {"scores": {"r1": 5, "r2": 2}}
    assert list(rows) == [("r1", strengths)] * 2 + [("r1", scores)] * 2
    assert not Grades.objects.exists()


@pytest.mark.parametrize("language", ["en", "de"])
def test_people_see_the_question_that_judges_get(language):
    for name in ("score-5", "score-7"):
        asked, known = texts(name, language), texts("score-10", language)
        assert asked.questions == known.questions
        highest = name.removeprefix("score-")
        assert asked.prompt == known.prompt.replace("10 (", f"{highest} (")
    with translation.override(language):
        assert {task: str(words) for task, words in HOW_GOOD.items()} == dict(known.questions)
