from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from extras.replication.released.cells import check_printed, compare_cells, own_fraction, published
from extras.replication.released.result_files import ResultName, describe, read_rows
from tests.extras.replication.released.rows import row, write_file

COMMAND_R = "prism_all_features_command-r-plus.jsonl"


def compared(tmp_path, name, rows):
    figures = describe(read_rows(write_file(tmp_path, name, rows)))
    return {(c["table"], c["row"], c["column"]): c for c in compare_cells({name: figures})}


def answers(right, wrong, certainty="60"):
    return [row("A", certainty, "A")] * right + [row("B", certainty, "A")] * wrong


def test_a_cell_is_equal_when_accuracy_and_counts_agree(tmp_path):
    rows = answers(133, 16, "90") + answers(587, 265)

    cells = compared(tmp_path, COMMAND_R, rows)

    high = cells["table2", "PRISM", "Command R+ high"]
    assert (high["equal"], high["why"]) == (True, "")
    assert (high["published"], high["published_correct"], high["published_n"]) == (0.893, 133, 149)
    assert high["computed"] == 133 / 149
    assert (high["computed_correct"], high["computed_n"]) == (133, 149)
    assert (high["rule"], high["file"]) == ("drop_nonAB", COMMAND_R)


def test_a_numerator_cut_by_the_paper_is_named_as_such(tmp_path):
    cells = compared(tmp_path, COMMAND_R, answers(133, 16, "90") + answers(588, 264))

    low = cells["table2", "PRISM", "Command R+ low"]
    assert low["equal"] is False
    assert low["why"].startswith("By count, 588 of 852 are right; the paper's 587 is its rounded")


def test_another_numerator_is_reported_without_that_excuse(tmp_path):
    cells = compared(tmp_path, COMMAND_R, answers(586, 266))

    assert cells["table2", "PRISM", "Command R+ low"]["why"].startswith(
        "By count, 586 of 852 are right. The file gives 586/852 = 0.6878."
    )


def test_an_accuracy_that_was_cut_instead_of_rounded_is_named_as_such(tmp_path):
    name = "ap_all_features_all_features_gpt-3.5-turbo.jsonl"

    cells = compared(tmp_path, name, answers(375, 98, "80"))

    assert cells["table2", "PR", "GPT-3.5 high"]["why"] == (
        "375/473 is 0.79281; the paper truncated instead of rounding."
    )


def test_a_wrong_denominator_makes_a_cell_different_although_the_accuracy_agrees(tmp_path):
    cells = compared(tmp_path, COMMAND_R, answers(588, 264))

    low = cells["table4", "All features", "Command R+ low"]
    assert low["equal"] is False
    assert low["why"].startswith("The file has 852 answers in this cell.")
    assert "copy of another cell" in low["why"]


def test_an_empty_cell_is_no_figure(tmp_path):
    high = compared(tmp_path, COMMAND_R, answers(10, 5))["table2", "PRISM", "Command R+ high"]

    assert (high["computed"], high["computed_n"], high["equal"]) == (None, 0, False)


def test_a_cell_whose_file_is_not_there_is_neither_equal_nor_different(tmp_path):
    cells = compared(tmp_path, COMMAND_R, answers(1, 1))

    absent = cells["table1", "EC no tie", "GPT-4"]
    assert (absent["published"], absent["computed"], absent["equal"]) == (0.591, None, None)
    assert absent["outcome"] == "absent"


def test_ties_among_the_truths_are_set_apart_where_no_tie_was_offered(tmp_path):
    rows = [*answers(2, 1), row("A", "3", "C")]

    cell = compared(tmp_path, "prism_no_persona_command-r-plus_new.jsonl", rows)[
        "table8", "PRISM w/o persona", "Command R+"
    ]

    assert cell["why"].endswith("Over the answers whose truth is not a tie it is 2/3 = 0.6667.")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "opinionqa_all_features_all_features_gemma_jun_11.jsonl",
            {
                ("table1", "OpinionQA no tie", "gemma (jun_11)"),
                ("table2", "OpinionQA", "gemma (jun_11) high"),
                ("table2", "OpinionQA", "gemma (jun_11) low"),
                ("table3", "All features", "gemma (jun_11) high"),
                ("table3", "All features", "gemma (jun_11) low"),
            },
        ),
        ("ec_all_features_with_tie_all_features_gemma.jsonl", {("table1", "EC with tie", "gemma")}),
        (
            "prism_all_features_least_imp_feature_mistral.jsonl",
            {
                ("table4", "Least important feature", "mistral high"),
                ("table4", "Least important feature", "mistral low"),
            },
        ),
        ("opinionqa_no_persona_gpt-4o.jsonl", {("table8", "OpinionQA w/o persona", "GPT-4")}),
    ],
)
def test_a_file_fills_its_cells_also_where_the_paper_prints_none(tmp_path, name, expected):
    cells = compared(tmp_path, name, answers(3, 1, "85"))

    own = {key: cell for key, cell in cells.items() if cell["file"] == name}
    assert own.keys() == expected
    for cell in own.values():
        assert (cell["published"], cell["equal"], cell["outcome"]) == (None, None, "unpublished")
        assert cell["why"] == "The paper has no such cell."


def test_every_recorded_cell_names_files_that_are_results():
    for cell in published()["cells"]:
        assert all(ResultName.parse(file) for file in cell["files"])
        assert cell.get("rule") in ({"drop_nonAB", "all_rows"} if cell["files"] else {None})
        assert cell["part"] in {"overall", "high", "low", "average"}


def test_every_cell_of_the_papers_tables_is_recorded_once():
    keys = [(c["table"], c["row"], c["column"]) for c in published()["cells"]]

    assert len(keys) == len(set(keys)) == 130
    assert Counter(table for table, _, _ in keys) == {
        "table1": 32,
        "table2": 32,
        "table3": 24,
        "table4": 24,
        "table5": 6,
        "table7": 6,
        "table8": 6,
    }


def test_no_released_output_is_said_and_never_filled(tmp_path):
    cells = compared(tmp_path, COMMAND_R, answers(1, 1))

    without = {key for key, cell in cells.items() if cell["outcome"] == "no_output"}
    assert {table for table, _, _ in without} == {
        "table3",
        "table4",
        "table5",
        "table7",
        "table8",
    }
    assert len(without) == 37
    assert ("table8", "OpinionQA w/o persona", "Command R+") in without
    assert all(cells[key]["computed"] is None for key in without)


def test_an_average_is_counted_once_all_its_data_sets_are_there(tmp_path):
    names = {
        "prism_all_features_with_tie_all_features_gpt-4o.jsonl": (3, 1),
        "ec_all_features_with_tie_all_features_gpt-4o.jsonl": (1, 3),
    }
    files = {
        name: describe(read_rows(write_file(tmp_path, name, answers(*counts))))
        for name, counts in names.items()
    }

    cells = {(c["row"], c["column"]): c for c in compare_cells(files) if c["table"] == "table1"}

    average = cells["Average with tie", "GPT-4"]
    assert (average["published"], average["computed"]) == (0.572, 0.5)
    assert average["outcome"] == "different"
    assert cells["Average with tie", "GPT-3.5"]["outcome"] == "absent"


def test_printed_averages_are_the_means_of_the_printed_cells():
    cells = [c for c in published()["cells"] if c["table"] == "table1"]
    for average in (c for c in cells if c["part"] == "average"):
        setting = average["row"].removeprefix("Average ")
        parts = [
            Decimal(str(c["accuracy"]))
            for c in cells
            if c["part"] == "overall"
            and c["row"].endswith(setting)
            and c["column"] == average["column"]
        ]
        mean = (sum(parts) / len(parts)).quantize(Decimal("0.001"), rounding=ROUND_HALF_UP)
        assert mean == Decimal(str(average["accuracy"]))


def test_cells_that_contradict_their_own_fraction_are_found_and_explained(tmp_path):
    cells = compared(tmp_path, COMMAND_R, answers(1, 1))
    why = {key: c["own_fraction_why"] for key, c in cells.items() if c["own_fraction"] is False}

    assert Counter(table for table, _, _ in why) == {
        "table2": 13,
        "table3": 4,
        "table4": 10,
        "table5": 1,
    }
    assert sum("truncated." in reason for reason in why.values()) == 20
    assert sum("instead of rounding" in reason for reason in why.values()) == 2
    assert "copy of another cell" in why["table4", "All features", "Command R+ low"]
    assert why["table4", "Three features", "Command R+ low"].endswith(
        "No whole number of 696 gives .653."
    )
    assert "447/755" in why["table5", "All features", "GPT-4 low"]
    agreeing = [c for c in cells.values() if c["own_fraction"]]
    assert len(agreeing) == 53


def test_a_fraction_of_which_nothing_fits_the_accuracy_has_no_known_reason():
    assert own_fraction({"accuracy": 0.5, "correct": 3, "n": 10}) == (
        False,
        "3/10 is .300. 5 of 10 gives .500. The reason is not known.",
    )
    assert own_fraction({"accuracy": 0.5}) == (None, "")
    assert own_fraction({"accuracy": None, "correct": 0, "n": 0}) == (None, "")


def test_arithmetic_of_the_papers_other_statements():
    holds = {(c["table"], c["printed"]): c["holds"] for c in check_printed()}

    assert holds["table3", ".538 (1756/3013)"] is False
    assert holds["table3", ".698 (1728/3000)"] is False
    assert holds["table3", ".656 (1750/3013)"] is False
    assert holds["table5", "42 + 258 = 300, 30 + 160 = 190"] is True
    assert holds["table7", "114/144"] is True
    assert {table for table, _ in holds} == {"table3", "table5", "table6", "table7"}


def test_the_documentation_lists_every_published_cell():
    page = (Path(__file__).parents[4] / "extras/replication/docs/replication.md").read_text()

    for cell in published()["cells"]:
        accuracy = cell.get("accuracy")
        shown = "–" if accuracy is None else f"{accuracy:.3f}".removeprefix("0")
        counts = f" ({cell['correct']}/{cell['n']})" if "n" in cell else ""
        number = cell["table"].removeprefix("table")
        assert f"| {number} | {cell['row']} | {cell['column']} | {shown}{counts} |" in page
