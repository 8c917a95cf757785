"""Reference answers: who sees them, what they give away, and how judges that saw them compare."""

import random
from dataclasses import replace
from typing import Any

import pytest

from analysis.data.dataset import load_dataset
from analysis.data.item_comparisons import FilterChoices, verdict_chunks
from analysis.report.study import ReportedStudy
from extras.judges_compared.references import References, given_away, with_reference
from extras.judges_compared.wording import WORDINGS
from judging.errors import ConflictingValue
from judging.models import Judgment
from judging.runs.costs import estimate_start
from judging.runs.spec import RunSpec
from judging.runs.study_content import texts_to_judges
from studies.importers.files.faults import Refused
from tests.analysis.builders import judge_item, make_run
from tests.annotation.pages.walking import item_page, post_answer, start
from tests.factories import make_item, make_items, make_persona, make_study, stored_at_once
from tests.judging.conftest import engine, judge, llm
from tests.judging.llm_server import completion
from tests.judging.run_helpers import judge_all
from tests.judging.run_helpers import start as start_run
from tests.studies.files import jsonl, raw_item, read

__all__ = ["engine", "judge", "llm"]

SECRET = "Boil lentils with {{ persona }}"
SOUP = "A lentil soup with bread, lemon, cumin and a spoon of oil."


@pytest.mark.parametrize(
    ("reference", "side"),
    [
        (SOUP, "r1"),
        (SOUP.upper() + "!", "r1"),
        (f"Cook: {SOUP}", "r1"),  # 12 of 13 words
        ("A  stew.", "r2"),
        ("[[B]]", "r2"),
        ("Response 1.", "r1"),
        ("tie", "tie"),
        ("A soup", ""),
        ("Anything warm would do.", ""),
        ("…", ""),
    ],
)
def test_a_reference_that_is_a_response_or_names_one_gives_it_away(reference, side):
    assert given_away(reference, SOUP, "A stew.") == side


def test_a_reference_gives_away_nothing_if_responses_have_no_words():
    assert given_away("!!!", "", "") == ""


@pytest.mark.django_db
def test_a_reference_that_is_too_long_or_no_text_is_refused_with_its_line():
    with pytest.raises(Refused) as refused:
        read(jsonl(raw_item(1, reference="x" * 8_001), raw_item(2, reference=["a", "b"])))
    assert [fault.line for fault in refused.value.faults] == [1, 2]


@pytest.mark.django_db
def test_people_never_get_the_reference():
    study = make_study(items_per_annotator=1)
    make_item(study=study, reference="Only judges read this.")
    client = start(study)
    page = item_page(client, study)
    after = post_answer(client, page, choice="A", certainty="60")
    for response in (page, after):
        assert "Only judges read this" not in response.content.decode()


@pytest.mark.django_db(transaction=True)
def test_only_this_setting_shows_the_reference_and_only_items_that_have_one_are_asked(judge, llm):
    study = make_study()
    make_item(study=study, key="with", reference=SECRET)
    make_item(study=study, key="without")
    prompts = []

    def answers(body, number):
        prompts.append(body["messages"][0]["content"])
        return completion("[[A]]")

    llm.answer = answers
    run = judge_all(study, judge, setting="reference", orders="r1_first")
    [prompt] = prompts
    # A slot that an imported text seems to have stays text.
    assert f"[Reference answer]\n{SECRET}\n" in prompt
    skipped = Judgment.objects.get(run=run, state="skipped")
    assert (skipped.item.key, skipped.error) == ("without", "The item has no reference answer.")

    judge_all(study, judge, setting="standard", orders="r1_first")
    assert len(prompts) == 3
    assert not [each for each in prompts[1:] if SECRET in each]


@pytest.mark.django_db
def test_a_study_without_references_refuses_the_setting(judge):
    study = make_study()
    make_items(study, 1)
    with pytest.raises(ConflictingValue, match="The item has no reference answer"):
        start_run(study, judge, setting="reference")


@stored_at_once()
def study_of(*, alike, items=120, seed=1):
    """Every other item has a reference; `alike` of these are the right response. Seen, it helps."""
    draw = random.Random(seed)
    study = make_study()
    personas = [make_persona(study=study) for _ in range(20)]
    runs = {
        name: make_run(study=study, judge="j", setting=name, orders="r1_first")
        for name in ("reference", "standard")
    }
    for n in range(items):
        has, is_alike = n % 2 == 0, n % 2 == 0 and n // 2 < alike
        texts = {"reference": "" if not has else SOUP if is_alike else "Something else."}
        item = make_item(study=study, persona=personas[n % 20], r1={"text": SOUP}, **texts)
        if has:
            judge_item(runs["reference"], item, "r1" if is_alike or draw.random() < 0.5 else "r2")
        else:
            judge_item(runs["reference"], item, "", state="skipped")
        judge_item(runs["standard"], item, "r1" if draw.random() < 0.5 else "r2")
    return study


def sentences(entry):
    kinds = [{"kind": "reference answers", "level": 0.05}]
    report: dict[str, Any] = {"wording": [], "committed": [], "with_reference": [entry]}
    report["inputs"] = {"items": 120}
    return [
        (sentence.place, str(sentence.text))
        for sentence in WORDINGS.sentences({**report, "claims_tested": {"kinds": kinds}})
    ]


def entry_of(study):
    reported = ReportedStudy(load_dataset(study.slug), threshold=80, seed=1, draws=50)
    [entry] = with_reference(reported)
    return entry


@pytest.mark.django_db
def test_a_gain_by_given_away_answers_is_told_apart_from_one_without():
    entry = entry_of(study_of(alike=40))

    assert (entry["items"], entry["given_away"], entry["right_given_away"]) == (60, 40, 40)
    assert (entry["n"], entry["others_n"]) == (60, 20)
    assert entry["difference"]["p_holm"] < 0.05
    low, high = entry["others_difference"]["ci"]
    assert low < 0 < high
    (_, gain), (place, words) = sentences(entry)
    assert gain.startswith("j is right more often if it sees a reference answer: ")
    assert place == "limit"
    assert words == (
        "j saw reference answers: for 40 of 60 items (of 120) with a reference answer they were "
        "one of the two responses, or nearly, and for 40 the one that counts as right. "
        "There the judge was shown what scores it."
    )


@pytest.mark.django_db
def test_nothing_is_said_of_leaks_where_there_are_none():
    entry = entry_of(study_of(alike=0))
    assert (entry["given_away"], entry["n"]) == (0, 60)
    assert [place for place, _ in sentences(entry)] == ["finding"]


@pytest.mark.django_db
def test_an_estimate_says_how_many_items_have_no_reference(judge):
    study = make_study()
    make_item(study=study, reference="Something.")
    make_items(study, 2)
    spec = RunSpec(study_id=study.pk, judge_id=judge.pk, setting="reference")
    [remark] = estimate_start(study, judge, spec).remarks
    assert remark == "2 of 3 items are not asked about. The item has no reference answer."
    assert not estimate_start(study, judge, replace(spec, setting="standard")).remarks


@pytest.mark.django_db
@pytest.mark.parametrize("number", ["31", "true", "null", "[1]", '"31"'])
def test_a_response_that_is_a_number_stays_a_text(number):
    """SQLite reads the text of a JSON value as JSON."""
    study = make_study()
    made = {"kind": "model", "name": number}
    item = make_item(
        study=study,
        reference="thirty-one",
        r1={"text": number, "generated_by": made},
        r2={"text": "12", "generated_by": made},
    )
    judge_item(make_run(study=study, setting="reference"), item, "r1", None)

    assert texts_to_judges(study)[0].text == "No item has a text that addresses a judge."
    assert dict(load_dataset(study.slug).of(References).given_away) == {item.key: ""}
    [[verdicts]] = list(verdict_chunks(study, None, FilterChoices()))
    assert verdicts.sources == (number, number)
