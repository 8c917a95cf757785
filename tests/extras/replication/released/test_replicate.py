import csv
import io
import json
import os
import re
from html import unescape
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from analysis.data.dataset import load_dataset
from analysis.report.added_files import ARTICLE_WRITERS
from analysis.report.article import RightOf
from extras.replication.released.article import certainty_bars, in_article
from extras.replication.released.result_files import read_rows
from tests.extras.replication.released.rows import ASKED_FIVE, ASKED_TIE, row, write_file


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "released"
    write_file(
        folder,
        "ec_all_features_gpt-4o.jsonl",
        [row("A", "85", "A"), row("B", "70", "A"), row("[", "60", "B")],
    )
    write_file(
        folder,
        "prism_all_features_with_tie_all_features_gpt-4o.jsonl",
        [row("C", "NA", "C", prompt=ASKED_TIE), row("T", "NA", "A", prompt=ASKED_TIE)],
    )
    write_file(
        folder,
        "prism_no_persona_command-r-plus_new.jsonl",
        [row("A", "5", "A", prompt=ASKED_FIVE), row("B", "3", "C", prompt=ASKED_FIVE)],
    )
    (folder / "README.md").write_text("Outputs.")
    (folder / "notes_<b>.jsonl").write_text("{}")
    return folder


def run(*args):
    stdout = io.StringIO()
    call_command("replicate", *map(str, args), stdout=stdout)
    return stdout.getvalue()


def test_the_command_prints_files_cells_and_checks(folder):
    text = run(folder)

    assert re.search(r"ec_all_features_gpt-4o\.jsonl +3 +1 +1 +0 +1 +0\.500 \(1/2\)", text)
    assert re.search(r"EC no tie +GPT-4 +0\.591 +0\.591 of 506 +0\.500 \(1/2\) +different", text)
    assert "does not hold" in text
    assert "Skipped README.md" in text


def test_nothing_is_written_without_out(folder, tmp_path):
    before = sorted(tmp_path.rglob("*"))

    run(folder)

    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.nightly
def test_out_gets_json_html_and_tables(folder, tmp_path):
    out = tmp_path / "made" / "here"

    run(folder, "--out", out)

    result = json.loads((out / "replication.json").read_text())
    file = result["files"]["ec_all_features_gpt-4o.jsonl"]
    assert file["parsed"] == {"n": 2, "correct": 1, "accuracy": 0.5}
    assert file["all_rows"] == {"n": 3, "correct": 1, "accuracy": 1 / 3}
    assert file["high"] == {"n": 1, "correct": 1, "accuracy": 1.0}
    assert {"rows", "answers", "no_certainty", "low"} <= file.keys()
    for cell in result["cells"]:
        assert {"table", "row", "column", "published", "computed", "equal", "why"} <= cell.keys()
    assert {entry["file"] for entry in result["skipped"]} == {"README.md", "notes_<b>.jsonl"}
    assert (out / "article/article.html").exists() == bool([*ARTICLE_WRITERS])
    with (out / "tables" / "table1.csv").open(newline="") as table:
        rows = {(r["Row"], r["Column"]): r for r in csv.DictReader(table)}
    assert rows["EC no tie", "GPT-4"]["Computed accuracy"] == "0.5"
    assert {path.name for path in (out / "tables").glob("table1.*")} == {
        "table1.csv",
        "table1.md",
        "table1.tex",
    }
    assert {path.stem for path in (out / "tables").iterdir()} == {
        "all",
        "files",
        "table1",
        "table2",
        "table3",
        "table4",
        "table5",
        "table7",
        "table8",
        "printed",
        "figure2",
        "figure3",
    }


def test_the_articles_tables_have_its_order_its_models_and_the_variables_of_the_profiles(folder):
    write_file(
        folder,
        "ap_all_features_gpt-4o.jsonl",
        [row("A", "85", "A", user_info="The person is 41 years old. The person is female.")],
    )
    rows = {path.name: read_rows(path) for path in folder.glob("*_*_*.jsonl")}

    found = in_article(rows)

    assert [each.title for each in found] == ["PR", "PRISM", "EC"]
    assert [each.variables for each in found] == [["Age", "Sex"], [], []]
    assert [run.model for run in found[1].runs] == ["GPT-4", "Command R+"]


def test_of_two_editions_of_a_file_the_articles_own_is_a_run_and_no_model_is_added(folder):
    (path,) = folder.glob("prism_no_persona*")
    rows = {path.name: read_rows(path), "prism_no_persona_command-r-plus.jsonl": read_rows(path)}

    (found,) = in_article(rows)

    (run,) = found.runs
    assert run.model == "Command R+"
    assert run.label.startswith("prism_no_persona_command-r-plus_new.jsonl, certainty from 1 to 5")
    assert run.label.endswith("instead of prism_no_persona_command-r-plus.jsonl")


def test_a_file_that_asked_for_a_certainty_is_compared_with_one_without_a_persona(folder):
    write_file(folder, "prism_all_features_command-r-plus.jsonl", [row("A", "85", "A")])
    rows = {path.name: read_rows(path) for path in folder.glob("prism_*_command*")}

    (found,) = in_article(rows)

    settings = {run.features: (run.setting, run.counts.overall.n) for run in found.runs}
    # Of the two rows without a persona, one has a tie as its right answer.
    assert settings == {"all": ("certainty", 1), "none": ("certainty", 1)}


@pytest.mark.django_db
def test_a_file_gives_the_same_numbers_in_the_article_as_when_it_is_imported(folder):
    counts = pytest.importorskip("extras.documents.article.counts")
    name = "prism_all_features_with_tie_all_features_gpt-4o.jsonl"
    write_file(
        folder,
        name,
        [
            row(answer, "NA", truth, prompt=ASKED_TIE, question=f"Question {n}?")
            for n, (answer, truth) in enumerate(map(tuple, ["AA", "BA", "CC", "TA", "[B", "NC"]))
        ],
    )
    call_command("import_items", "pj", str(folder / name), create=True, stdout=io.StringIO())
    call_command("import_judgments", "pj", str(folder / name), judge="GPT-4", stdout=io.StringIO())

    (released,) = in_article({name: read_rows(folder / name)})
    imported = counts.count_article(load_dataset("pj"))

    (one,), (other,) = released.runs, imported.runs
    assert one.counts.overall == other.counts.overall == RightOf.counted(2, 6)
    assert one.unread == other.unread == 3


def test_what_would_fill_a_table_is_a_file_or_was_never_released(folder):
    tables = pytest.importorskip("extras.documents.article.tables")
    write_file(folder, "ap_all_features_gpt-4o.jsonl", [row("A", "85", "A")])
    rows = {path.name: read_rows(path) for path in folder.glob("*_*_*.jsonl")}

    notes = {
        each.table.name: str(each.table.note) for each in tables.article_tables(in_article(rows))
    }

    missing, _, never = notes["table_1"].partition("Never asked, or not released: ")
    assert "PRISM: prism_all_features_gpt-4o.jsonl" in missing
    assert never == "PR: GPT-4 (tie); Command R+ (tie)."
    assert "PRISM: prism_all_features_command-r-plus.jsonl" in notes["table_8"]


@pytest.mark.nightly
def test_tables_of_somebody_else_are_not_replaced(folder, tmp_path):
    (tmp_path / "tables").mkdir()

    with pytest.raises(CommandError, match="contains tables, which this command did not create"):
        run(folder, "--out", tmp_path)

    run(folder, "--out", tmp_path / "new")
    run(folder, "--out", tmp_path / "new")


@pytest.mark.nightly
def test_a_second_run_gives_the_same_bytes(folder, tmp_path):
    run(folder, "--out", tmp_path / "one")
    run(folder, "--out", tmp_path / "two")

    for name in ("replication.json", "replication.html", "tables/files.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.nightly
def test_the_page_is_self_contained_and_escapes_names(folder, tmp_path):
    run(folder, "--out", tmp_path)

    page = unescape((tmp_path / "replication.html").read_text())
    own = page[: page.index('id="plots"')]
    assert "notes_&lt;b&gt;.jsonl" in (tmp_path / "replication.html").read_text()
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", own)
    assert "default-src 'none'" in own
    assert "no band at 80" in page[page.index('id="plots"') :]
    assert own.count("<table data-name=") == len(list((tmp_path / "tables").glob("*.csv")))


def test_an_unknown_model_with_markup_in_its_name_is_no_result(folder):
    (folder / "prism_all_features_<script>.jsonl").write_text("{}")

    assert "Skipped prism_all_features_<script>.jsonl" in run(folder)


@pytest.mark.nightly
def test_a_damaged_file_fails_by_name_after_the_others_were_written(folder, tmp_path):
    (folder / "ap_all_features_all_features_gpt-4o_jun5.jsonl").write_text("version 1\n")

    with pytest.raises(CommandError, match=r"ap_all.*, line 1: not a released result"):
        run(folder, "--out", tmp_path)

    result = json.loads((tmp_path / "replication.json").read_text())
    assert len(result["files"]) == 3
    assert any("line 1" in entry["why"] for entry in result["skipped"])


def test_a_folder_that_cannot_be_read_fails(tmp_path):
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        run(tmp_path / "absent")


def test_a_folder_without_results_fails(tmp_path):
    (tmp_path / "README.md").write_text("Nothing here.")

    with pytest.raises(CommandError, match="has no released result files"):
        run(tmp_path)


def test_an_out_that_is_a_file_fails(folder, tmp_path):
    target = tmp_path / "file"
    target.write_text("mine")

    with pytest.raises(CommandError, match="cannot be written"):
        run(folder, "--out", target)

    assert target.read_text() == "mine"


def test_bars_are_tens_cut_to_forty_and_ninety_without_ties_and_replies_without_verdict(tmp_path):
    rows = [
        row("A", "7"),
        row("B", "39"),
        row("A", "49"),
        row("A", "50"),
        row("A", "89"),
        row("B", "90"),
        row("A", "100"),
        row("T", "90"),
        row("A", "NA"),
        row("A", "250"),
    ]
    path = write_file(tmp_path, "prism_all_features_gpt-4o.jsonl", rows)

    assert certainty_bars(read_rows(path)) == (
        ("40", 2, 1),
        ("50", 1, 0),
        ("80", 1, 0),
        ("90", 1, 1),
    )


# The files themselves may not be part of this project; the page says how to check them.
RELEASED = os.environ.get("THIRDPERSON_PAPER_OUTPUTS")

PUBLISHED_FIGURES = {
    # file: rows, answers A B C none, parsed, all rows, high, low (right, of)
    "ap_all_features_all_features_gpt-3.5-turbo.jsonl": (
        525,
        (213, 311, 0, 1),
        (409, 524),
        (409, 525),
        (375, 473),
        (34, 51),
    ),
    "ec_all_features_gpt-4o.jsonl": (
        507,
        (296, 210, 0, 1),
        (299, 506),
        (299, 507),
        (4, 4),
        (295, 502),
    ),
    "prism_all_features_command-r-plus.jsonl": (
        1001,
        (605, 396, 0, 0),
        (721, 1001),
        (721, 1001),
        (133, 149),
        (588, 852),
    ),
    "prism_all_features_least_imp_feature_gpt-4o.jsonl": (
        995,
        (538, 453, 0, 4),
        (723, 991),
        (723, 995),
        (81, 92),
        (642, 899),
    ),
    "prism_all_features_with_tie_all_features_gpt-4o.jsonl": (
        1001,
        (410, 360, 197, 34),
        (728, 967),
        (728, 1001),
        (0, 0),
        (0, 0),
    ),
    "prism_no_persona_command-r-plus_new.jsonl": (
        991,
        (231, 755, 0, 5),
        (519, 986),
        (519, 991),
        (0, 0),
        (0, 0),
    ),
}

if RELEASED:

    def test_the_released_files_give_the_published_figures(tmp_path):
        run(Path(RELEASED), "--out", tmp_path)

        result = json.loads((tmp_path / "replication.json").read_text())
        for name, (rows, answers, *shares) in PUBLISHED_FIGURES.items():
            file = result["files"][name]
            assert (file["rows"], tuple(file["answers"].values())) == (rows, answers)
            parts = (file[key] for key in ("parsed", "all_rows", "high", "low"))
            assert [(part["correct"], part["n"]) for part in parts] == shares
            assert file["flag_mismatches"] == file["duplicate_prompts"] == 0
        known = [cell for cell in result["cells"] if cell["file"] in PUBLISHED_FIGURES]
        assert sum(cell["equal"] is True for cell in known) == 10
        assert sum(cell["equal"] is False for cell in known) == 6
