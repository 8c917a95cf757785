"""Bias probes: how they are named, what they change, and how a run records and skips them."""

import re
from dataclasses import replace

import pytest
from django.urls import reverse

from analysis.data.dataset import load_dataset
from analysis.report.sections.bias.probes import Probes
from analysis.report.study import ReportedStudy as ReportStudy
from judging.bias.probe_choices import PROBES, probe_choice, warned
from judging.bias.probes import Asked, Example, not_the_same
from judging.bias.texts import all_of
from judging.engine.messages import Message, from_user
from judging.errors import ConflictingValue, InvalidValue
from judging.models import JudgeRun, Judgment
from judging.prompts.asking import Asking
from judging.runs.campaigns import CampaignPlan, grid_of, start_campaign
from judging.runs.lifecycle import work_off
from judging.runs.spec import RunSpec
from judging.runs.start import run_for
from studies.models import Study
from studies.texts.slots import Fact, HistoryEntry, Profile, Slots
from tests.factories import make_item, make_persona, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion
from tests.judging.planted import PlantedJudge
from tests.judging.run_helpers import judge_all, start, states

SLOTS = Slots("A person.", "", "[Question]\nWhy?\n\n", "First. It is so.", "Second thing.", "", "?")
PROFILE = Profile(
    (Fact("age", "Age", "30", "They are 30."), Fact("sex", "Sex", "f", "She is a woman.")),
    "Likes tea.",
    (HistoryEntry("Tea?", "Yes.", "No."),),
)
RESPONSE_PROBES = [probe for probe in PROBES if probe.has_target]


def asked(**changes):
    return Asked(
        item="i1", persona="p1", shown_first="r1", seed=7, language="en", rule="r1", **changes
    )


@pytest.mark.parametrize(
    ("words", "stored", "baseline"),
    [
        ("", "", ""),
        ("none", "", ""),
        ("length", "length", ""),
        ("length@b", "length@b", ""),
        ("bandwagon:90", "bandwagon", ""),
        ("bandwagon:75@r2", "bandwagon:75@r2", ""),
        ("source:Acme+Co@r1+warning", "source:Acme+Co@r1+warning", "none+warning"),
        ("length+warning+reflection", "length+reflection+warning", "none+reflection+warning"),
        ("none+warning", "none+warning", "none+warning"),
        ("flip:a@home", "flip:a@home", ""),
    ],
)
def test_a_probe_has_one_name_and_a_baseline(words, stored, baseline):
    choice = probe_choice(words)

    assert (choice.name, choice.baseline.name) == (stored, baseline)
    assert probe_choice(choice.name) == choice


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("lenght", "There is no probe “lenght”"),
        ("+warning", "names no probe"),
        ("none@r1", "names no probe"),
        ("length:5", "length has no option “5”"),
        ("bandwagon:101", "a percentage from 1 to 100"),
        ("examples:0", "a number from 1 to 20"),
        ("flip", "Use flip:FEATURE."),
        ("hide:age@r1", "it has no target"),
        ("source:[x]", "brackets"),
        ("flip:" + "a" * 60, "at most 60 characters"),
    ],
)
def test_a_wrong_name_is_refused_with_what_is_wrong(words, says):
    with pytest.raises(InvalidValue, match=re.escape(says)):
        probe_choice(words)


@pytest.mark.parametrize("probe", RESPONSE_PROBES, ids=lambda probe: probe.name)
def test_a_probe_of_responses_keeps_the_words_and_changes_only_its_target(probe):
    on_a = probe.change(SLOTS, asked(option=probe.default))
    on_b = probe.change(SLOTS, replace(asked(option=probe.default), shown_first="r2"))

    assert replace(on_a, response_a=SLOTS.response_a) == SLOTS
    assert replace(on_b, response_b=SLOTS.response_b) == SLOTS
    assert on_a.response_a != SLOTS.response_a
    words = re.sub(r"[*\-\n ]+", " ", on_a.response_a)
    assert "First." in words
    assert "It is so." in words


def test_a_drawn_target_is_the_same_in_both_orders_and_half_of_the_items():
    def target(number, first):
        return replace(asked(), rule="drawn", item=f"i{number}", shown_first=first).target

    drawn = [target(number, "r1") for number in range(2000)]

    assert drawn == [target(number, "r2") for number in range(2000)]
    assert 0.46 < drawn.count("r1") / 2000 < 0.54
    assert replace(asked(), rule="a", shown_first="r2").target == "r2"
    assert replace(asked(), rule="b", shown_first="r2").target == "r1"


def test_markdown_keeps_every_line_as_an_item():
    formatting = next(probe for probe in PROBES if probe.name == "formatting")

    written = formatting.rewrite("One two three four. Five!\n\nSix seven", asked())

    assert written.splitlines()[2:] == [
        "- **One two three** four.",
        "- **Five!**",
        "- **Six seven**",
    ]


def test_probes_of_the_persona_change_one_part_each():
    def shown(words, **more):
        choice = probe_choice(words)
        probe, question = choice.probe, asked(option=choice.option, **more)
        return probe.show(PROFILE, question), probe.why_not(PROFILE, question)

    flipped, why = shown("flip:age", values=[("30", "They are 30."), ("60", "They are 60.")])
    assert (flipped.facts[0], why) == (Fact("age", "Age", "60", "They are 60."), "")
    assert flipped.facts[1:] == PROFILE.facts[1:]
    assert shown("flip:age", values=[("30", "They are 30.")]) == (
        PROFILE,
        "No other persona has another value of “age”.",
    )
    assert shown("flip:job")[1] == "The profile shows no “job”."
    assert shown("hide:age")[0] == replace(PROFILE, facts=PROFILE.facts[1:])
    assert shown("hide-text")[0] == replace(PROFILE, text="")
    assert shown("hide-history")[0] == replace(PROFILE, history=())


def test_a_persona_is_flipped_to_the_same_value_at_all_items_and_values_are_drawn_evenly():
    flip, values = probe_choice("flip:age").probe, [(str(n), f"is {n}") for n in range(30, 35)]

    def flipped(persona, item):
        question = Asked(
            item=item,
            persona=persona,
            shown_first="r1",
            seed=7,
            language="en",
            option="age",
            values=values,
        )
        return flip.show(PROFILE, question).facts[0].value

    assert {flipped("p1", f"i{n}") for n in range(20)} == {flipped("p1", "i1")}
    drawn = [flipped(f"p{n}", "i") for n in range(800)]
    assert "30" not in drawn
    assert all(150 < drawn.count(value) < 250 for value, _ in values[1:])


def test_examples_state_what_the_person_preferred_and_never_items_alike():
    examples = [
        Example("i2", "Why not?", "A {second} reason", "No {first} reason", "r1"),
        Example("i3", "Who?", "Me", "You", "r2"),
    ]
    probe = probe_choice("examples:2").probe

    told = probe.change(SLOTS, asked(option="2", examples=examples)).examples

    preferred = dict(re.findall(r"(First|Second) response: (.+)", told.replace("\n", "\n ")))
    assert len(preferred) == 2
    for entry in told.split("[Earlier item ")[1:]:
        first, second = re.search(r"First response: (.*)\nSecond response: (.*)", entry).groups()
        chosen = {"first": first, "second": second}[re.search(r"the (\w+) response", entry)[1]]
        assert chosen in ("A {second} reason", "You")
    assert probe.why_not(PROFILE, asked(option="3", examples=examples)) == (
        "This person answered only 2 other items; 3 are needed as examples."
    )
    assert not not_the_same(examples[1], question="WHO? ", r1="x", r2="y")
    assert not not_the_same(examples[1], question="Other", r1="x", r2=" you")
    assert not_the_same(examples[1], question="Other", r1="x", r2="y")
    assert not_the_same(examples[1], question="", r1="x", r2="y")


def test_a_warning_joins_the_system_message_that_is_there():
    alone = warned(from_user("Q"), "en")
    joined = warned((Message("system", "Be kind."), Message("user", "Q")), "en")

    assert [message.role for message in alone] == ["system", "user"]
    assert [message.role for message in joined] == ["system", "user"]
    assert joined[0].text == f"Be kind.\n\n{alone[0].text}"


FEATURES = [
    {"key": "age", "label": "Age", "value": "30", "text": "They are 30."},
    {"key": "sex", "label": "Sex", "value": "f", "text": "She is a woman."},
]


def facts(**values):
    return [
        {**each, "value": values[each["key"]], "text": f"They are {values[each['key']]}."}
        if each["key"] in values
        else each
        for each in FEATURES
    ]


@pytest.fixture
def study(transactional_db):
    study = make_study(slug="s", seed=5)
    young = make_persona(study=study, key="p1", features=facts(age="30"), text="Likes tea.")
    old = make_persona(study=study, key="p2", features=facts(age="60")[:1])
    for number in range(4):
        persona = young if number < 3 else old
        make_item(
            study=study,
            persona=persona,
            key=f"i{number}",
            question=f"Question {number}?",
            r1={"text": f"yes {number}"},
            r2={"text": f"no {number}"},
            first_person="r1" if number else "r2",
        )
    return study


def test_a_run_asks_changed_prompts_and_records_its_probe(study, judge, llm):
    plain = judge_all(study, judge, orders="both")
    probed = judge_all(study, judge, orders="both", bias_probe="authority@r2+warning")

    assert plain.prompt_hash != probed.prompt_hash
    assert probed.key != plain.key
    assert probed.parameters["bias_probe"] == {"name": "authority@r2+warning", "target": "r2"}
    before, after = llm.requests[:8], llm.requests[8:]
    assert {len(body["messages"]) for body in before} == {1}
    assert [[m["role"] for m in body["messages"]] for body in after] == [["system", "user"]] * 8
    for body in after:
        shown = body["messages"][1]["content"]
        assert re.search(r"no \d\n\n\(This is confirmed", shown)
        assert shown.count("(This is confirmed") == 1
    again = run_for(
        study,
        judge,
        RunSpec(study_id=study.pk, judge_id=judge.pk, orders="both", bias_probe=probed.bias_probe),
    )
    assert again.pk == probed.pk


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("length", "Mit anderen Worten gesagt"),
        ("none+warning", "Beurteilen Sie nur, was in den Antworten steht."),
    ],
)
def test_a_german_study_is_probed_in_german(study, judge, llm, words, says):
    Study.objects.filter(pk=study.pk).update(language="de")
    study.refresh_from_db()

    run = judge_all(study, judge, bias_probe=words)

    english = judge_all(study, judge, bias_probe=words, prompt_language="en")
    assert any(says in str(body["messages"]) for body in llm.requests)
    assert run.prompt_language == "de"
    assert run.prompt_hash != english.prompt_hash


def test_a_probe_without_words_in_the_language_is_refused(study, judge, monkeypatch):
    Study.objects.filter(pk=study.pk).update(language="de")
    authority = probe_choice("authority").probe
    monkeypatch.setattr(type(authority), "languages", ("en",))

    with pytest.raises(ConflictingValue, match="“authority” has words only in these languages: en"):
        start(study, judge, bias_probe="authority")


def test_every_text_of_a_probe_is_translated():
    for probe in PROBES:
        english, german = all_of(probe.name, "en"), all_of(probe.name, "de")
        assert english.keys() == german.keys()
        for place in english:
            assert type(english[place]) is type(german[place])
            slots = [re.findall(r"\{\w+\}", str(each[place])) for each in (english, german)]
            assert sorted(slots[0]) == sorted(slots[1])


def test_prompts_that_were_sent_can_be_built_again(study, judge, llm):
    for words in ("flip:age", "examples:2", "injection"):
        run = judge_all(study, judge, bias_probe=words)
        sent = {body["messages"][-1]["content"] for body in llm.requests}
        asking = Asking.of(JudgeRun.objects.get(pk=run.pk))
        for judgment in run.judgments.filter(state="done"):
            (message,) = asking.messages(judgment.item, shown_first=judgment.shown_first)
            assert message.text in sent


def test_items_that_a_probe_does_not_fit_are_skipped_with_a_reason(study, judge, llm):
    run = judge_all(study, judge, bias_probe="hide:sex")

    assert states(run) == {"done": 3, "skipped": 1}
    (skipped,) = run.judgments.filter(state="skipped")
    assert (skipped.item.key, skipped.error) == ("i3", "The profile shows no “sex”.")
    assert all("woman" not in body["messages"][0]["content"] for body in llm.requests)
    assert all("Likes tea." in body["messages"][0]["content"] for body in llm.requests)


def test_a_flip_keeps_the_values_that_the_study_had_at_its_start(study, judge, llm):
    run = start(study, judge, bias_probe="flip:age")
    assert run.parameters["bias_probe"]["values"] == [
        ["30", "They are 30."],
        ["60", "They are 60."],
    ]
    make_persona(study=study, key="p3", features=facts(age="99"))

    asking = Asking.of(JudgeRun.objects.get(pk=run.pk))

    item = study.all_items.get(key="i3")
    (message,) = asking.messages(item, shown_first="r1")
    assert "They are 30." in message.text
    assert "99" not in message.text


def test_examples_are_the_persons_own_answers_to_other_items(study, judge, llm):
    run = judge_all(study, judge, bias_probe="examples:2")

    assert states(run) == {"done": 3, "skipped": 1}
    for judgment in run.judgments.filter(state="done"):
        (message,) = Asking.of(run).messages(judgment.item, shown_first="r1")
        told = message.text.partition("Other answers")[2].partition("[Question]")[0]
        own = judgment.item.key[1]
        assert f"Question {own}?" not in told
        assert f"Question {own}?" in message.text
        others = {number for number in "012" if number != own}
        assert set(re.findall(r"Question (\d)\?", told)) == others


def test_after_a_reflection_both_replies_are_stored(study, judge, llm):
    llm.answer = lambda body, n: completion("[[A]]" if len(body["messages"]) == 1 else "[[B]]")

    run = judge_all(study, judge, orders="r1_first", bias_probe="length+reflection")

    assert len(llm.requests) == 8
    assert set(run.judgments.values_list("choice", flat=True)) == {"r2"}
    assert set(map(str, run.judgments.values_list("earlier_replies", flat=True))) == {"['[[A]]']"}
    assert run.judgments.first().details == {"before_reflection": "r1"}


def test_what_a_probe_cannot_do_is_refused_before_anything_is_stored(study, judge):
    def refused(**options):
        with pytest.raises((ConflictingValue, InvalidValue)) as caught:
            start(study, judge, **options)
        return str(caught.value)

    assert "bias probe: no persona has the feature “job”" in refused(bias_probe="flip:job")
    assert "framing “neutral” does not show" in refused(bias_probe="hide:age", framing="neutral")
    assert "There is no probe “x”" in refused(bias_probe="x")
    assert not JudgeRun.objects.exists()
    assert not Judgment.objects.exists()


def test_a_campaign_adds_the_baseline_of_each_probe(study):
    make_judge(name="one", base_url="http://127.0.0.1:9/v1")
    plan = CampaignPlan("x", ["one"], probes=["length", "length+warning", "flip:*"])

    assert [point.probe for point in grid_of(study, plan)] == [
        "",
        "length",
        "none+warning",
        "length+warning",
        "flip:age",
        "flip:sex",
    ]


def test_the_form_offers_probes_and_adds_each_with_each_mitigation(study):
    make_judge(name="one", base_url="http://127.0.0.1:9/v1")
    editor, url = sign_in(study, "editor"), reverse("judging:new", args=["s"])
    asked = {
        "name": "Probes",
        "judges": ["one"],
        "settings": ["standard"],
        "features": ["all"],
        "orders": "r1_first",
        "samples": "1",
        "probes": ["length", "flip:*"],
        "mitigations": ["warning"],
    }

    form = editor.get(url).context["form"]
    shown = editor.post(url, {**asked, "estimate": "yes"})

    assert {form[name].value() for name in ("probes", "mitigations")} == {None}
    assert (
        "hide:*",
        "hide: One attribute left out; free text and history stay, once for each attribute",
    ) in form.fields["probes"].choices
    plan = shown.context["form"].plan()
    assert plan.probes == ["length", "flip:*", "length+warning", "flip:*+warning"]
    # No other persona has another value of “sex”, so its flips ask nothing.
    assert "8 runs, 24 questions" in shown.content.decode()


def test_a_stored_plan_keeps_probes_that_the_form_does_not_offer(study):
    make_judge(name="one", base_url="http://127.0.0.1:9/v1")
    plan = CampaignPlan("Own", ["one"], probes=["source:Acme@r1", "length"])
    campaign = start_campaign(study_id=study.pk, plan=plan, enqueue=False)

    url = reverse("judging:new", args=["s"]) + f"?like={campaign.public_id}"
    form = sign_in(study, "editor").get(url).context["form"]

    assert [group.title for group in form.groups if group.is_open] == [
        "Bias probes and mitigations"
    ]
    assert ("source:Acme@r1", "source:Acme@r1") in form.fields["probes"].choices
    assert form["probes"].value() == ["source:Acme@r1", "length"]


@pytest.mark.nightly
def test_a_bias_planted_in_a_server_is_in_the_report_of_a_campaign(transactional_db, llm, engine):
    study = make_study(slug="planted", seed=11)
    personas = [make_persona(study=study, features=FEATURES) for _ in range(8)]
    for p, persona in enumerate(personas):
        for q in range(6):
            make_item(
                study=study,
                persona=persona,
                key=f"i{p}{q}",
                question=f"Question {q}?",
                r1={"text": f"Of merit {(p + q) % 5 - 2:.2f}."},
                r2={"text": "Of merit 0.00."},
                first_person="",
            )
    make_judge(name="one", base_url=llm.url)
    planted = PlantedJudge("source", 5.0, warned=0.0, is_noisy=False)
    llm.answer = lambda body, n: completion(
        planted.reply([Message(m["role"], m["content"]) for m in body["messages"]])
    )
    plan = CampaignPlan(
        "Probes", ["one"], orders=["r1_first"], probes=["source", "length", "source+warning"]
    )

    campaign = start_campaign(study_id=study.pk, plan=plan, enqueue=False)
    for run in campaign.runs.all():
        work_off(run_id=run.pk)

    data = load_dataset("planted")
    found = Probes().compute(ReportStudy(data, 70, seed=1, draws=20), {})["bias"]["probes"]
    source, length, warned = (
        next(each for each in found if [each["probe"], *each["mitigations"]] == names)
        for names in (["source"], ["length"], ["source", "warning"])
    )
    assert len(llm.requests) == 5 * 48
    assert [run.judge for run in data.runs] == ["one"]
    assert source["shift_ci"][0] > 0.1
    assert source["p_holm"] < 0.01
    assert length["p_holm"] > 0.05
    assert warned["shift_ci"][0] < 0 < warned["shift_ci"][1]
    assert warned["mitigated"]["ci"][0] > 0
