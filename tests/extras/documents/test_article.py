"""The article's tables and figures for own studies: every number equals a recount of the rows."""

import csv
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from PIL import Image

from analysis.data.dataset import load_dataset
from annotation.models import Annotation
from extras.documents.article.counts import count_article
from extras.documents.article.files import article_figures
from extras.documents.article.tables import article_tables
from judging.models import Judgment
from tests.analysis import latex
from tests.analysis.builders import random_study

RUNS = [
    {"judge": "steady", "setting": "certainty"},
    {"judge": "steady", "setting": "certainty", "features": "age"},
    {"judge": "steady", "setting": "certainty", "features": "none"},
    {"judge": "steady", "setting": "tie"},
    {"judge": "other", "setting": "standard"},
]


@pytest.fixture(scope="module")
def studies(module_db):
    return [random_study(seed, n_items=50, runs=RUNS, title=f"Set {seed}") for seed in (4, 9)]


@pytest.fixture(scope="module")
def tables(studies):
    data = [count_article(load_dataset(study.slug)) for study in studies]
    return {each.table.name: each for each in article_tables(data)}


def recount(study, judge, setting, features="all", *, weights=None):
    """Right answers and all, overall and by certainty, from the rows of one run.

    A reply that was not read is wrong where a tie was offered. Without a certainty, it is low.
    """
    counts = {"overall": [0, 0], "high": [0, 0], "low": [0, 0]}
    truths = ("r1", "r2", "tie") if setting == "tie" else ("r1", "r2")
    judgments = Judgment.objects.filter(
        run__study=study, run__judge__name=judge, run__setting=setting, run__features=features
    )
    for row in judgments.select_related("item"):
        is_read = row.choice or (setting == "tie" and row.state in ("unparseable", "refused"))
        if not is_read or row.item.first_person not in truths:
            continue
        is_high = row.certainty is not None and row.certainty >= 80
        for band in ("overall", "high" if is_high else "low"):
            for _ in range(1 if weights is None else weights[row.item_id]):
                counts[band][0] += row.choice == row.item.first_person
                counts[band][1] += 1
    return {band: tuple(found) for band, found in counts.items()}


def answers_of(study):
    found = Annotation.objects.filter(
        assignment__item__study=study,
        standing="counted",
        assignment__item__first_person__in=("r1", "r2"),
    )
    return list(found.select_related("assignment__item"))


def cell(table, row, column, group=""):
    place = next(
        at for at, c in enumerate(table.columns) if (c.heading, c.group) == (column, group)
    )
    found = next(each for each in table.rows if each[0] == row)[place]
    return found["correct"], found["n"]


def test_accuracies_by_setting_certainty_features_and_persona_equal_a_recount(studies, tables):
    for study in studies:
        title, one = study.title, {name: each.table for name, each in tables.items()}
        whole = recount(study, "steady", "certainty")
        assert cell(one["table_1"], title, "steady", "No tie") == whole["overall"]
        tie = recount(study, "steady", "tie")["overall"]
        assert cell(one["table_1"], title, "steady", "With tie") == tie
        other = recount(study, "other", "standard")["overall"]
        assert cell(one["table_1"], title, "other", "No tie") == other
        less = recount(study, "steady", "certainty", "age")
        ablated = one["table_3" if study is studies[0] else "table_4"]
        for band in ("high", "low"):
            assert cell(one["table_2"], title, band, "steady") == whole[band]
            assert cell(ablated, "All features", band, "steady") == whole[band]
            assert cell(ablated, "Age", band, "steady") == less[band]
        none = recount(study, "steady", "certainty", "none")["overall"]
        assert cell(one["table_8"], title, "without", "steady") == none
        assert cell(one["table_8"], title, "with", "steady") == whole["overall"]
    shares = [recount(study, "steady", "tie")["overall"] for study in studies]
    columns = one["table_1"].columns
    place = [(each.heading, each.group) for each in columns].index(("steady", "With tie"))
    mean = one["table_1"].rows[-1][place]["accuracy"]
    assert mean == pytest.approx(sum(right / n for right, n in shares) / 2)


def test_people_and_judges_on_the_same_items_equal_a_recount(studies, tables):
    for study in studies:
        votes: dict[Any, list[Any]] = {}
        single = {"high": [0, 0], "low": [0, 0]}
        for row in answers_of(study):
            votes.setdefault(row.assignment.item, []).append(row)
            is_high = row.certainty is not None and row.certainty >= 80
            band = single["high" if is_high else "low"]
            band[0] += row.choice == row.assignment.item.first_person
            band[1] += 1
        majority = {"high": [0, 0], "low": [0, 0]}
        for item, rows in votes.items():
            (first, n), *rest = Counter(row.choice for row in rows).most_common()
            stated = [r.certainty for r in rows if r.choice == first and r.certainty is not None]
            if not any(m == n for _, m in rest):
                is_high = bool(stated) and sum(stated) / len(stated) >= 80
                band = majority["high" if is_high else "low"]
                band[0] += first == item.first_person
                band[1] += 1
        name_of_row = f"{study.title}: All features"
        weights = Counter(row.assignment.item_id for row in answers_of(study))
        repeated = recount(study, "steady", "certainty", weights=weights)
        once = recount(study, "steady", "certainty", weights=dict.fromkeys(weights, 1))
        for half in ("high", "low"):
            for name, people, judge in (("5", majority, once), ("7", single, repeated)):
                table = tables[f"table_{name}"].table
                assert cell(table, name_of_row, half, "Third person") == tuple(people[half])
                assert cell(table, name_of_row, half, "steady") == judge[half]


def test_each_table_says_what_fills_it_and_what_is_missing(studies, tables):
    found = tables["table_1"]
    run = load_dataset(studies[0].slug).runs
    standard = next(each for each in run if each.setting == "standard")
    assert f"other, no tie: Set 4: standard, run {standard.run[:8]}" in str(found.table.note)
    assert "Missing to fill the rest: Set 4: other (tie)" in str(found.table.note)
    missing = next(each for each in found.missing if each.title == "Set 4")
    assert missing.address.endswith("/new/?judges=other&settings=tie&features=all")


def test_the_rule_for_replies_that_were_not_read_is_below_each_table_with_their_number(
    studies, tables
):
    unread = Judgment.objects.filter(
        run__study=studies[0],
        run__setting="tie",
        state__in=("unparseable", "refused"),
        item__first_person__in=("r1", "r2", "tie"),
    ).count()

    assert unread
    note = str(tables["table_1"].table.note)
    assert re.search(rf"steady, with tie: Set 4: tie, run \w+ \({unread} without a side\)", note)
    assert all(
        "left out where no tie was offered, and wrong where one was" in str(found.table.note)
        for name, found in tables.items()
        if name != "table_6"  # which has no accuracies
    )


def test_a_data_set_of_the_article_has_its_own_table_of_fewer_features(studies):
    data = [count_article(load_dataset(study.slug)) for study in studies]
    own = [replace(data[0], title="PRISM", fewer_features=4)]

    def titles(of):
        tables = {each.table.name: each.table for each in article_tables(of)}
        return {
            name: tables[name].title for name in tables if name.startswith(("table_3", "table_4"))
        }

    assert titles(own)["table_4"].endswith("features of the persona, PRISM")
    assert titles(own)["table_3"] == "Table 3. Fewer features"
    several = titles([*own, *data])
    assert several["table_3"].endswith("persona, Set 4")
    assert several["table_4"].endswith("persona, PRISM")
    assert several["table_4_2"].endswith("persona, Set 9")


def test_the_figures_of_one_data_set_name_it(studies):
    figures = article_figures([count_article(load_dataset(studies[0].slug))])

    assert [str(each.figure.title).endswith(", Set 4") for each in figures] == [True, True]


def test_a_run_in_another_setting_is_named_below_the_comparison_without_persona(studies):
    data = count_article(load_dataset(studies[0].slug))
    without = [run for run in data.runs if run.features == "none"]
    whole = [run for run in data.runs if run.model == "steady" and run.features == "all"]
    moved = replace(data, runs=[replace(without[0], setting="standard"), *whole])

    note = str(article_tables([moved])[-1].table.note)

    found = next(run for run in whole if not run.offers_tie).counts.overall
    share = f"{found.accuracy:.3f}".removeprefix("0")
    assert (
        f"steady with persona was asked in the setting certainty ({share}, "
        f"{found.correct}/{found.n}), not in standard."
    ) in note


def test_figures_have_all_answers_that_state_a_certainty(studies):
    data = [count_article(load_dataset(study.slug)) for study in studies]
    second, third = article_figures(data)

    assert [panel.title for panel in second.figure.panels] == ["Set 4 · steady", "Set 9 · steady"]
    assert (second.columns, third.columns) == (2, 2)
    for each, study in zip(data, studies, strict=True):
        bars = next(run.bars for run in each.runs if run.features == "all" and run.bars)
        found = recount(study, "steady", "certainty")
        n = Judgment.objects.filter(
            run__study=study,
            run__setting="certainty",
            run__features="all",
            item__first_person__in=("r1", "r2"),
            certainty__isnull=False,
        ).count()
        assert sum(right + wrong for _, right, wrong in bars) == n
        high = sum(right for label, right, _ in bars if int(label) >= 80)
        assert high == found["high"][0]


@pytest.mark.nightly
@pytest.mark.slow
def test_the_command_writes_every_file_and_replaces_only_its_own(studies, tmp_path):
    slugs, out = [study.slug for study in studies], tmp_path / "out"
    call_command("tables", *slugs, layout="paper", out=str(out), verbosity=0)

    names = {path.name for path in out.iterdir()}
    wanted = {f"table_{n}.{kind}" for n in range(1, 9) for kind in ("csv", "tex", "md")}
    assert wanted | {"all.xlsx", "all.tex", "article.html", "figure_3.svg"} <= names
    with Image.open(out / "figure_2.png") as picture:
        assert round(picture.info["dpi"][0]) == 300
    with (out / "table_2.csv").open(encoding="utf-8") as file:
        assert [row[0] for row in csv.reader(file)] == ["Data", "Set 4", "Set 9"]
    for path in out.glob("*.tex"):
        latex.check(path.read_text(encoding="utf-8"))

    call_command("tables", *slugs, out=str(out), verbosity=0)
    (out / "article.html").unlink()
    with pytest.raises(CommandError, match="did not create and would replace"):
        call_command("tables", *slugs, out=str(out), verbosity=0)
