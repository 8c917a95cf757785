import pytest

from analysis.replication.cells import check_printed, compare_cells, published
from analysis.replication.counts import describe
from analysis.replication.released_answers import read_rows
from analysis.replication.result_names import ResultName
from tests.analysis.replication.rows import row, write_file

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
    assert low["why"].startswith("Counted, 588 of 852 are right; the paper's 587 is its rounded")


def test_another_numerator_is_reported_without_that_excuse(tmp_path):
    cells = compared(tmp_path, COMMAND_R, answers(586, 266))

    assert cells["table2", "PRISM", "Command R+ low"]["why"].startswith(
        "Counted, 586 of 852 are right. The file gives 586/852 = 0.6878."
    )


def test_an_accuracy_that_was_cut_instead_of_rounded_is_named_as_such(tmp_path):
    name = "ap_all_features_all_features_gpt-3.5-turbo.jsonl"

    cells = compared(tmp_path, name, answers(375, 98, "80"))

    assert cells["table2", "PR", "GPT-3.5 high"]["why"] == (
        "375/473 is 0.79281; the paper cut it where it should have rounded."
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
    assert absent["why"] == "The file is not in the folder."


def test_ties_among_the_truths_are_set_apart_where_no_tie_was_offered(tmp_path):
    rows = [*answers(2, 1), row("A", "3", "C")]

    cell = compared(tmp_path, "prism_no_persona_command-r-plus_new.jsonl", rows)[
        "table8", "PRISM w/o persona", "Command R+"
    ]

    assert cell["why"].endswith("Over the answers whose truth is no tie it is 2/3 = 0.6667.")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "opinionqa_all_features_all_features_gpt-4o_jun_11.jsonl",
            {
                ("table1", "OpinionQA no tie", "GPT-4 (jun_11)"),
                ("table2", "OpinionQA", "GPT-4 (jun_11) high"),
                ("table2", "OpinionQA", "GPT-4 (jun_11) low"),
                ("table4", "OpinionQA, All features", "GPT-4 (jun_11) high"),
                ("table4", "OpinionQA, All features", "GPT-4 (jun_11) low"),
            },
        ),
        (
            "ec_all_features_with_tie_all_features_command-r-plus.jsonl",
            {("table1", "EC with tie", "Command R+")},
        ),
        (
            "prism_all_features_least_imp_feature_mistral.jsonl",
            {
                ("table4", "Least important feature", "mistral high"),
                ("table4", "Least important feature", "mistral low"),
            },
        ),
        (
            "opinionqa_no_persona_gpt-4o.jsonl",
            {("table8", "OpinionQA w/o persona", "GPT-4")},
        ),
    ],
)
def test_a_file_fills_its_cells_also_where_nothing_published_is_recorded(tmp_path, name, expected):
    cells = compared(tmp_path, name, answers(3, 1, "85"))

    own = {key: cell for key, cell in cells.items() if cell["file"] == name}
    assert own.keys() == expected
    for cell in own.values():
        assert (cell["published"], cell["equal"]) == (None, None)
        assert cell["why"] == "The published cell is not recorded here."


def test_every_recorded_cell_names_files_that_are_results():
    for cell in published()["cells"]:
        assert all(ResultName.parse(file) for file in cell["files"])
        assert cell["rule"] in {"drop_nonAB", "all_rows"}
        assert cell["part"] in {"overall", "high", "low"}


def test_arithmetic_of_the_printed_tables():
    holds = {(c["table"], c["printed"]): c["holds"] for c in check_printed()}

    assert holds["table3", ".538 (1756/3013)"] is False
    assert holds["table3", ".698 (1728/3000)"] is False
    assert holds["table3", ".656 (1750/3013)"] is False
    assert holds["table5", "79.2 (38/48)"] is True
    assert holds["table5", "63.3 (190/300)"] is True
    assert holds["table7", "114/144"] is True
    assert {table for table, _ in holds} == {"table3", "table5", "table6", "table7"}
