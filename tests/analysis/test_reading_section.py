"""The report says what lenient reading changed, in every run that has such replies."""

import random

import pytest

from analysis.data.judgment_rows import judgment_rows
from analysis.report.build import all_sentences, all_tables
from judging.models import Judgment
from tests.analysis.builders import random_study
from tests.analysis.partial import report_of

pytestmark = pytest.mark.django_db


def read_leniently(run, code, share, seed):
    """Mark some answers of a run as read by `code`; return their ids."""
    rng = random.Random(seed)
    done = run.judgments.filter(state="done").order_by("pk")
    chosen = [each.pk for each in done if rng.random() < share]
    Judgment.objects.filter(pk__in=chosen).update(details={"read": code})
    return set(chosen)


def scores_of(run, left_out):
    """Accuracy over items by majority of the run's answers, counted by hand."""
    votes: dict[int, list[str]] = {}
    truth = {}
    for each in run.judgments.filter(state="done").select_related("item"):
        truth[each.item_id] = each.item.first_person
        if each.pk not in left_out:
            votes.setdefault(each.item_id, []).append(each.choice)
    right = n = 0
    for item, choices in votes.items():
        counts = sorted(((choices.count(c), c) for c in set(choices)), reverse=True)
        undecided = len(counts) > 1 and counts[0][0] == counts[1][0]
        if undecided or counts[0][1] == "tie" or truth[item] not in ("r1", "r2"):
            continue
        n += 1
        right += counts[0][1] == truth[item]
    return n, right


def test_each_run_is_compared_with_strict_reading():
    study = random_study(2)
    worded, certain, _ = study.judge_runs.order_by("pk")
    chosen = read_leniently(worded, "words", 0.4, 1)
    certainties = read_leniently(certain, "certainty", 0.4, 1)
    assert chosen
    assert certainties

    report = report_of(study)

    judges = {judge["run"]: judge for judge in report["judges"]}
    assert sum("reading" in judge for judge in judges.values()) == 2
    entry = judges[worded.key]["reading"]
    assert (entry["leniently"], entry["only_certainty"]) == (len(chosen), 0)
    assert entry["codes"] == {"words": len(chosen)}
    for key, left_out in (("lenient", set()), ("strict", chosen)):
        n, right = scores_of(worded, left_out)
        assert (entry[key]["n"], entry[key]["correct"]) == (n, right)
        assert entry[key]["accuracy"] == pytest.approx(right / n)
    assert entry["lenient"]["accuracy"] == judges[worded.key]["accuracy"]

    other = judges[certain.key]["reading"]
    assert (other["leniently"], other["only_certainty"]) == (0, len(certainties))
    assert other["lenient"]["correct"] == other["strict"]["correct"]

    assert len(all_tables(report)["reading"].rows) == 2
    limits = [str(each.text) for each in all_sentences(report, "limit")]
    [sentence] = [text for text in limits if "answers were read only leniently" in text]
    assert f" {len(chosen)} of " in sentence
    assert "certainties were read only leniently" in " ".join(limits)
    always = {"individuals", "stereotypes", "certainty", "language", "explored", "small_cells"}
    assert always <= {each["limit"] for each in report["limitations"]}


def test_rows_of_the_export_say_how_a_reply_was_read():
    study = random_study(2)
    run = study.judge_runs.order_by("pk").first()
    chosen = read_leniently(run, "json", 0.4, 1)

    read = [row["read_as"] for row in judgment_rows(study) if row["run"] == run.key]

    assert read.count("json") == len(chosen)
    assert set(read) == {"json", None}
