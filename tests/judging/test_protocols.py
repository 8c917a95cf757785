"""Every protocol: how replies are read, what the server gets, and a planted judge is recovered."""

import json
import math
import re

import pytest

from judging.engine.messages import Message, chat, prompt_sha256
from judging.errors import ConflictingValue
from judging.models import JudgeRun
from judging.prompts.asking import Asking
from judging.protocols.registry import protocol, protocols
from judging.protocols.texts import texts
from judging.protocols.usual import LEVELS
from studies.models import Item
from studies.prompts import BANDS, bands_in, prompt_languages
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion
from tests.judging.run_helpers import judge_all, start

CRITERIA = [
    {"key": "clear", "name": "Clarity", "description": "Easy to follow."},
    {"key": "kind", "name": "Kindness", "description": ""},
]


def read(name, text, *, earlier=(), is_structured=False, is_lenient=False):
    verdict = (
        protocol(name)
        .of_study(CRITERIA)
        .read(text, earlier=earlier, is_structured=is_structured, is_lenient=is_lenient)
    )
    return verdict.side, verdict.certainty, dict(verdict.details)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("7]]", 7),
        ("[[7]]", 7),
        (" 10", 10),
        ("<think>[[2]]</think>[[9]]", 9),
        ("[[7]], so [[7]]", 7),
        ("[[7]] or [[8]]", None),
        ("11]]", None),
        ("0]]", None),
        ("[[A]]", None),
        ("Seven", None),
        ("I think 7 of 10", None),
    ],
)
def test_a_score_is_one_number_of_its_scale(text, score):
    assert protocol("score-10").score(text) == score


@pytest.mark.parametrize(
    ("text", "score", "code"),
    [
        ("[[8]]", 8, ""),
        ("The answer is: 8", 8, "label"),
        ("**Score: 8/10**, because it fits", 8, "label"),
        ('Here it is:\n```json\n{"score": 8}\n```', 8, "label"),
        ("评分：８", 8, "label"),
        ("8/10", 8, "first_line"),
        ("**8**", 8, "first_line"),
        ("Score: 8/100", None, ""),
        ("Score: 7-8", None, ""),
        ("Score: 8.5", None, ""),
        ("The score is not 8.", None, ""),
        ("The answer is 8 if she likes fish.", None, ""),
        ("Score: 8. Wait, fish is expensive.", None, ""),
        ("Relevance score: 6\nTone score: 9", None, ""),
        ("[[7]] or [[8]]. Score: 8", None, ""),
    ],
)
def test_lenient_reading_takes_a_score_after_a_label_or_alone(text, score, code):
    scale = protocol("score-10")
    assert scale.stated_score(text) == (score, code)
    assert scale.read(text, is_lenient=True).continues == (score is not None)
    assert scale.read(text).continues == (code == "" and score is not None)

    if score is not None:
        _, _, details = read("score-10", "[[3]]", earlier=(text,), is_lenient=True)
        assert details == {"scores": {"A": score, "B": 3}} | ({"read": code} if code else {})


@pytest.mark.parametrize(
    ("first", "second", "side"), [("7]]", "5]]", "A"), ("[[5]]", "[[7]]", "B"), ("5]]", "5]]", "C")]
)
def test_the_higher_score_is_the_choice_and_equal_ones_are_a_tie(first, second, side):
    assert protocol("score-10").read(first).continues
    assert not protocol("score-10").read("none").continues

    chosen, certainty, details = read("score-10", second, earlier=(first,))

    numbers = [int(re.search(r"\d", text)[0]) for text in (first, second)]
    assert (chosen, certainty) == (side, None)
    assert details == {"scores": dict(zip("AB", numbers, strict=True))}


@pytest.mark.parametrize(
    ("name", "text", "strict", "lenient"),
    [
        ("reason-before", "Because [[A]] is long.\n[[B]]", "B", "B"),
        ("reason-before", "Because it is long.\n**[[A]]**.", "A", "A"),
        ("reason-before", "[[A]] because it is long", None, "A"),
        ("reason-before", "Because.", None, None),
        ("reason-line", "It is shorter than the other.\n[[A]]", "A", "A"),
        ("reason-after", "A]]\nIt beats [[B]] by far.", "A", "A"),
        ("reason-after", "[[B]]\nBecause.", "B", "B"),
        ("reason-after", "A good question.\n[[B]]", None, "B"),
        ("reason-after", "<think>[[A]]</think>B]] because", "B", "B"),
    ],
)
def test_with_reasons_the_choice_counts_at_its_place(name, text, strict, lenient):
    assert read(name, text)[0] == strict
    assert read(name, text, is_lenient=True)[0] == lenient


def test_reasons_in_a_form_are_read_from_the_form():
    form = '{"reason": "[[A]] is dull.", "answer": "B"}'

    assert read("reason-before", form, is_structured=True)[0] == "B"
    assert list(protocol("reason-before").form()) == ["reason", "answer"]
    assert list(protocol("reason-after").form()) == ["answer", "reason"]


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("Clarity: [[A]]\nKindness: [[C]]\nOverall: [[B]]", "B"),
        ("1. **clarity** – [[A]]\n2. kindness: [[C]]\n\nInsgesamt: [[B]]", "B"),
        ("Kindness: [[C]]\nClarity: [[A]]\nOverall: [[B]]", None),
        ("Clarity: [[A]]\nOverall: [[B]]", None),
        ("Clarity: [[A]]\nKindness: [[C]]\nOverall: [[C]]", None),
        ("Clarity: [[A]]\nKindness: [[C]]\nOverall: [[B]] or [[A]]", None),
        ("[[B]]", None),
    ],
)
def test_criteria_are_read_line_by_line_or_not_at_all(text, side):
    details = {"criteria": {"clear": "A", "kind": "C"}} if side else {}

    assert read("criteria", text) == (side, None, details)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A]] [[Confident]]", ("A", 70, {"level": "confident"})),
        ("[[B]] [[ highly  confident ]]", ("B", 90, {"level": "highly_confident"})),
        ("[[B]] [[Ziemlich sicher]]", ("B", 50, {"level": "quite_confident"})),
        ("[[A]] [[80]]", ("A", None, {})),
        ("[[A]] [[Confident]] [[Uncertain]]", ("A", None, {})),
        ("[[A]]", ("A", None, {})),
        ("[[Confident]]", (None, None, {})),
    ],
)
def test_a_level_counts_as_the_middle_of_its_band(text, expected):
    assert read("levels", text) == expected


def test_levels_are_the_bands_in_every_language():
    assert LEVELS == tuple(band.slug for band in BANDS)
    for language in prompt_languages():
        own = texts("levels", language)
        assert own.levels == tuple(band.name for band in bands_in(language))
        for band in bands_in(language):
            assert f"{band.name}: {band.definition}" in own.prompt


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("80]]", ("A", 80, {})),
        ("[[100]]", ("A", 100, {})),
        ("101]]", ("A", None, {})),
        ("Very", ("A", None, {})),
        ("<think>80</think>", (None, None, {})),
    ],
)
def test_the_second_turn_gives_the_certainty_of_the_first(text, expected):
    assert protocol("second-turn").read("A]]").continues
    assert not protocol("second-turn").read("Hm.").continues
    assert read("second-turn", text, earlier=("A]]",)) == expected


def test_p_true_is_the_probability_of_a_yes_and_missing_without_probabilities():
    asked = protocol("p-true")
    verdict = asked.read("No]]", earlier=("[[B]]",))

    weighed = asked.weigh(verdict, {"yes": 0.625, "no": 0.375})

    assert (weighed.side, weighed.certainty) == ("B", 62)
    assert weighed.details == {"says": "no", "p_true": 0.625}
    assert asked.weigh(verdict, None).certainty is None
    assert asked.weigh(verdict, {"yes": 0.0, "no": 1.0}).certainty == 1
    assert asked.read("Ja]]", earlier=("A]]",)).details == {"says": "yes"}
    unsure = asked.weigh(asked.read("Perhaps", earlier=("A]]",)), {"yes": 0.25, "no": 0.75})
    assert (unsure.side, unsure.certainty, unsure.details) == ("A", 25, {"p_true": 0.25})
    assert asked.read("", earlier=("A]]",)).side is None


def test_a_conversation_has_each_reply_after_its_question_or_none_of_it():
    messages = (Message("system", "s"), Message("user", "one"), Message("user", "two"))

    turns = protocol("second-turn").conversation(messages, ("A]]",))
    alone = protocol("score-10").conversation(messages, ("7]]",))

    assert [(m.role, m.text) for m in turns] == [
        ("system", "s"),
        ("user", "one"),
        ("assistant", "A]]"),
        ("user", "two"),
    ]
    assert [m.text for m in alone] == ["s", "two"]
    for name in ("second-turn", "score-10"):
        assert protocol(name).conversation(messages, ()) == messages[:2]


def told(text, shares):
    """A completion whose first token has these probabilities."""
    head, rest = re.match(r"(\w+)(.*)", text, re.DOTALL).groups()
    tops = [{"token": word, "logprob": math.log(p)} for word, p in shares.items()]
    tokens = [{"token": head, "logprob": 0.0, "top_logprobs": tops}]
    tokens += [{"token": rest, "logprob": 0.0, "top_logprobs": []}] if rest else []
    body = json.loads(completion(text).body)
    body["choices"][0]["logprobs"] = {"content": tokens}
    return Answer(body=json.dumps(body).encode())


class Planted:
    """A judge that prefers the longer response, and is more certain the larger the difference.

    It reads only what a protocol sends: both responses, or one of them.
    """

    def __call__(self, body, number):
        messages = body["messages"]
        text = messages[-1]["content"]
        if len(messages) > 1 and messages[-2]["role"] == "assistant":
            return self.again(messages, text)
        found = re.findall(r"^\[Response(?: [AB])?\]\n(.*)$", text, re.MULTILINE)
        if len(found) == 1 and "[RESULT]" in text:
            return completion(f"It is as long as it is. [RESULT] {min(5, len(found[0]))}")
        if len(found) == 1:
            return completion(f"{len(found[0])}]]")
        side = "A" if len(found[0]) > len(found[1]) else "B"
        if "Clarity" in text:
            return completion(f"Clarity: [[{side}]]\nKindness: [[C]]\nOverall: [[{side}]]")
        if "First give your reason" in text:
            return completion(f"It is longer.\n[[{side}]]")
        if "Highly Confident:" in text:
            return completion(f"{side}]] [[Confident]]")
        if "{bands}" in text or "The numbers mean" in text:
            return completion(f"{side}]] [[61]]")
        return told(f"{side}]]", {side: 0.8, "A" if side == "B" else "B": 0.2})

    def again(self, messages, text):
        assert messages[-2]["content"].endswith("]]")
        if "Is your choice right?" in text:
            return told("Yes]]", {"Yes": 0.9, "No": 0.1})
        return completion("61]]")


STATED = {"certainty": 61, "levels": 70, "second-turn": 61, "p-true": 90}


@pytest.fixture
def study(db):
    study = make_study(slug="planted", criteria=CRITERIA)
    for n in range(3):
        longer, shorter = {"text": "y" * (5 + n)}, {"text": "no"}
        pair = (longer, shorter) if n % 2 else (shorter, longer)
        make_item(study=study, key=f"i{n}", r1=pair[0], r2=pair[1])
    return study


PAIRWISE = (
    "standard",
    "certainty",
    "tie",
    "reason-before",
    "reason-line",
    "reason-after",
    "criteria",
    "score-10",
    "score-100",
    "levels",
    "second-turn",
    "p-true",
)


@pytest.mark.sampled(keep=4)
@pytest.mark.parametrize("name", PAIRWISE)
def test_a_planted_judge_is_recovered_and_every_step_is_what_was_stored(name, study, llm, engine):
    llm.answer = Planted()
    judge = make_judge(
        base_url=llm.url, probabilities="beside", price_input=1, price_output=1, concurrency=2
    )

    run = judge_all(study, judge, setting=name, orders="both")

    assert run.state == "done", run.sentence
    judgments = list(run.judgments.select_related("item"))
    assert len(judgments) == 6
    asking, sent = Asking.of(run), [body["messages"] for body in llm.requests]
    for judgment in judgments:
        item = judgment.item
        assert judgment.choice == ("r1" if len(item.r1["text"]) > len(item.r2["text"]) else "r2")
        assert judgment.certainty == STATED.get(name)
        messages = asking.messages(item, shown_first=judgment.shown_first)
        assert judgment.prompt_sha256 == prompt_sha256(messages)
        replies = tuple(judgment.earlier_replies or ())
        assert len(replies) == protocol(name).steps - 1
        for step in range(len(replies) + 1):
            said = asking.reply_format.conversation(messages, replies[:step])
            assert chat(said) in sent
    assert len(sent) == 6 * protocol(name).steps
    # A dollar per million tokens, and 110 tokens for every request.
    assert run.spent_nano == len(sent) * 110 * 1000
    details = {json.dumps(j.details, sort_keys=True) for j in judgments if j.item.key == "i1"}
    assert details == {json.dumps(DETAILS.get(name), sort_keys=True)}


DETAILS = {
    "score-10": {"scores": {"r1": 6, "r2": 2}},
    "score-100": {"scores": {"r1": 6, "r2": 2}},
    "criteria": {"criteria": {"clear": "r1", "kind": "tie"}},
    "levels": {"level": "confident"},
    "p-true": {"says": "yes", "p_true": 0.9},
}


def test_scores_of_one_request_show_nothing_of_the_other_response(study, llm, engine):
    llm.answer = Planted()
    Item.objects.exclude(key="i1").delete()

    judge_all(study, make_judge(base_url=llm.url), setting="score-100", orders="r2_first")

    first, second = (body["messages"][0]["content"] for body in llm.requests)
    assert "yyyyyy" not in first
    assert "yyyyyy" in second
    assert all(len(body["messages"]) == 1 for body in llm.requests)


def test_probabilities_of_the_choice_stay_when_a_later_step_has_none(study, llm, engine):
    llm.answer = Planted()
    judge = make_judge(base_url=llm.url, probabilities="beside")

    for name in ("second-turn", "p-true"):
        run = judge_all(study, judge, setting=name, orders="r1_first")
        shares = run.judgments.get(item__key="i1").probabilities
        assert shares == pytest.approx({"r1": 0.8, "r2": 0.2})


def test_a_refusal_has_no_probabilities_and_says_why(study, llm, engine):
    text = "I cannot judge this person."
    llm.answer = lambda body, n: told(text, {"I": 0.9, "A": 0.06, "B": 0.03, "The": 0.01})
    judge = make_judge(base_url=llm.url, probabilities="beside")

    run = judge_all(study, judge, limit=1, orders="r1_first")

    judgment = run.judgments.get()
    assert (judgment.state, judgment.choice) == ("refused", "")
    assert judgment.probabilities is None
    assert "no letter" in judgment.details["no_probabilities"]


def test_what_does_not_go_together_is_refused(study, engine):
    plain = make_judge(base_url="http://127.0.0.1:9/v1")
    formal = make_judge(name="formal", base_url="http://127.0.0.1:9/v1", structured=True)
    study.criteria = []
    study.save()

    for judge, options, field, words in (
        (plain, {"setting": "criteria"}, "setting", "needs criteria, and this study has none"),
        (plain, {"setting": "p-true"}, "setting", "needs option probabilities"),
        (formal, {"setting": "second-turn"}, "setting", "have no structured form"),
        (plain, {"framing": "neutral", "features": "none"}, "features", "shows no profile"),
    ):
        with pytest.raises(ConflictingValue, match=words) as caught:
            start(study, judge, **options)
        assert caught.value.field == field


@pytest.mark.parametrize(
    ("setting", "stored"),
    [
        ("standard", "34e9aee77316ad0c09e9ac93533f765f1cae376dffef4911605f165dda128bcc"),
        ("certainty", "26f1a5d98df706a066625cbbfe629489b5dfa06ac79093ce7cd0ee378622e0b4"),
        ("tie", "4caa15139de7bb2117327de4503b747bd1504868140ab0fbc86cab0dd1d2b883"),
    ],
)
def test_words_of_the_first_settings_have_the_hashes_that_runs_stored(study, setting, stored):
    judge = make_judge(base_url="http://127.0.0.1:9/v1")

    assert Asking.of(JudgeRun(study=study, judge=judge, setting=setting)).sha256() == stored


def test_every_protocol_has_a_name_of_its_own_and_says_what_it_is():
    assert len({each.name for each in protocols()}) == len(protocols())
    assert all(each.description and len(each.name) <= 20 for each in protocols())
