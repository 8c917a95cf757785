"""Signs of programs: measured only if the study says so, and right about simulated annotators."""

import json
import re

import numpy as np
import pytest

from annotation import services
from annotation.machine_signs import (
    COUNTED,
    FLAGGED,
    TRAP_CERTAINTY,
    MachineSign,
    SignedAnswer,
    points_of,
    read_signals,
    signs_of,
    slope_of_time,
)
from annotation.models import Annotation, Annotator
from annotation.quality import OF_CONDUCT, quality_of
from benchmarks.machines import AGENTS, KINDS, PASTERS, PEOPLE, SEED, points, rates
from studies.models import Study
from tests.annotation.pages.walking import arrive, begun, item_page, post_answer, start
from tests.factories import make_item, make_items, make_study, sign_in

QUIET = dict.fromkeys(COUNTED, 0)
SENT = {**QUIET, "keys": 3, "away_ms": 1200, "left": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        "[" * 390,
        json.dumps({**SENT, "keys": -1}),
        json.dumps({**SENT, "keys": True}),
        json.dumps({**SENT, "keys": "3"}),
        json.dumps({**SENT, "keys": 1e999}),
        json.dumps({**SENT, "keys": 10**9}),
        json.dumps({"keys": 3}),
        json.dumps(SENT) + " " * 400,
    ],
)
def test_what_is_not_ours_is_ignored(text):
    assert read_signals(text) is None


def test_only_known_counts_are_read():
    assert read_signals(json.dumps({**SENT, "text": "what I typed"})) == SENT


def test_the_slope_of_time_is_that_of_a_regression():
    rng = np.random.default_rng(3)
    words = rng.integers(20, 400, 30)
    times = (words**0.6 * np.exp(rng.normal(0, 0.4, 30)) * 1000).astype(int)

    slope, upper = slope_of_time(words.tolist(), times.tolist())

    from scipy.stats import linregress

    fit = linregress(np.log(words), np.log(times))
    assert slope == pytest.approx(fit.slope)
    assert upper == pytest.approx(fit.slope + 1.6448536 * fit.stderr)


@pytest.mark.parametrize("name", ["voice or eye control", "copies, page translated"])
def test_people_who_steer_otherwise_or_read_in_translation_are_rarely_flagged(name):
    scores = points(np.random.default_rng(SEED), PEOPLE[name], 200, 30)

    assert np.mean([score >= FLAGGED for score in scores]) <= 0.05


def test_a_translated_page_explains_copying_but_nothing_else():
    names = ("copied", "away", "translated")

    assert points_of(map(MachineSign, names)) == FLAGGED - 1
    assert points_of(map(MachineSign, (*names, "certainty"))) == FLAGGED


def test_few_answers_show_no_habit():
    hasty = SignedAnswer(140, 900, 78, QUIET)

    assert signs_of([hasty] * 9) == []
    assert signs_of([]) == []


def test_at_few_false_flags_most_pasters_and_agents_are_found():
    """The benchmark prints the rates of 2,000 in each group."""
    rng = np.random.default_rng(SEED)
    found = {
        kind: rates(
            {name: points(rng, group, 60, 30) for name, group in groups.items()}, groups, FLAGGED
        )
        for kind, groups in KINDS.items()
    }

    assert found["people"] <= 0.05
    assert found["pasters"] >= 0.8
    assert found["agents"] >= 0.7
    assert [
        sum(group.share for group in groups.values()) for groups in (PEOPLE, PASTERS, AGENTS)
    ] == [pytest.approx(1)] * 3


@pytest.mark.django_db
def test_what_a_page_counted_is_stored_with_the_first_submission_until_withdrawal():
    study, client = begun()

    page = item_page(client, study)
    assert b'name="signals"' in page.content
    post_answer(client, page, signals=json.dumps(SENT), active_ms="86400000")
    assert Annotation.objects.get().signals == {**SENT, "impossible": 1}

    post_answer(client, page, choice="b", signals=json.dumps({**SENT, "keys": 9}))
    answer = Annotation.objects.get()
    assert (answer.revision, answer.signals["keys"]) == (2, 3)

    services.withdraw(annotator_id=Annotator.objects.get().pk)
    assert Annotation.objects.get().signals is None


@pytest.mark.django_db
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_study_that_does_not_measure_neither_says_nor_stores_anything(language):
    study, client = begun(machine_signs="off", language=language)
    said = {"en": "What we measure while you answer", "de": "Was wir messen, während Sie antworten"}

    page = item_page(client, study)
    assert b'name="signals"' not in page.content
    post_answer(client, page, signals=json.dumps(SENT))

    assert Annotation.objects.get().signals is None
    assert quality_of(study)[Annotator.objects.get().pk].machine_points is None
    consent = arrive(study, "b" * 24).get(f"/s/{study.slug}/consent/").content.decode()
    assert said[language] not in consent
    Study.objects.update(machine_signs="measured")
    assert (
        said[language] in arrive(study, "c" * 24).get(f"/s/{study.slug}/consent/").content.decode()
    )
    # Somebody who agreed to the other text is not measured.
    assert b'name="signals"' not in client.get(f"/s/{study.slug}/task/1/").content


@pytest.mark.django_db
@pytest.mark.parametrize("setting", ["measured", "trap"])
def test_only_programs_read_the_instruction_in_attention_checks(setting):
    study = make_study(items_per_annotator=1, machine_signs=setting)
    make_items(study, 1)
    make_item(study=study, split="attention_check", check_answer="r1", question="Which one?")
    client = start(study)
    hidden = re.compile(r'<p class="visually-hidden" aria-hidden="true">[^<]*state (\d+) as')
    shown = []
    for _ in range(2):
        page = item_page(client, study)
        shown += hidden.findall(page.content.decode())
        post_answer(client, page, certainty=str(TRAP_CERTAINTY), signals=None)

    found = quality_of(study)[Annotator.objects.get().pk]
    trapped = MachineSign("trapped", 1)
    assert shown == ([str(TRAP_CERTAINTY)] if setting == "trap" else [])
    assert (trapped in found.signs) is (setting == "trap")
    assert ("machine" in found.rules) is (setting == "trap")


@pytest.mark.django_db
def test_pages_list_the_signs_and_sort_by_them_and_settling_ignores_them():
    study = make_study(items_per_annotator=1, annotations_per_item=3)
    make_items(study, 1)
    for pid in "abc":
        client = start(study, pid * 24)
        sent = {**SENT, "driven": int(pid == "a")}
        post_answer(client, item_page(client, study), signals=json.dumps(sent))
    first, _, last = Annotator.objects.order_by("pk").values_list("pseudonym", flat=True)
    client = sign_in(study)
    people = f"/studies/{study.slug}/people/"

    newest = client.get(people).content.decode()
    most = client.get(people, {"sort": "machine"}).content.decode()
    flagged = client.get(people, {"flag": "machine"}).content.decode()
    page = client.get(f"{people}annotator/", {"rater": first}).content.decode()

    assert newest.index(last) < newest.index(first)
    assert most.index(first) < most.index(last)
    for sort in ("flags", "answers", "fewest", "fastest", "disagreement", "even", "'--"):
        page_of_all = client.get(people, {"sort": sort}).content.decode()
        assert first in page_of_all
        assert last in page_of_all
    assert first in flagged
    assert last not in flagged
    assert "A program controlled the browser in 100\u00a0% of the answers." in page
    assert "machine" not in OF_CONDUCT
    assert "machine_points" in client.get(people, {"format": "csv"}).content.decode()
