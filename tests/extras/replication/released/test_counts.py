from extras.replication.released.result_files import describe, read_rows
from tests.extras.replication.released.rows import ASKED_FIVE, ASKED_TIE, row, write_file


def described(tmp_path, rows, name="prism_all_features_gpt-4o.jsonl"):
    return describe(read_rows(write_file(tmp_path, name, rows)))


def test_every_figure_of_a_file_with_all_kinds_of_replies(tmp_path):
    rows = [
        row("A", "80", "A"),  # high, right
        row("B", "79", "A"),  # low, wrong
        row("B", "100", "B"),  # high, right
        row("A", "0", "B"),  # low, wrong: some models say 0
        row("A", "NA", "A"),  # no certainty, right
        row("A", "101", "A"),  # no such certainty, right
        row("[", "90", "A"),  # no verdict
        row(False, False, "B"),  # no reply
        row("C", "60", "C"),  # a tie that was not offered
    ]

    file = described(tmp_path, rows)

    assert file["rows"] == 9
    assert file["answers"] == {"A": 4, "B": 2, "C": 1, "unparseable": 2}
    assert file["raw_answers"] == {"A": 4, "B": 2, "C": 1, "False": 1, "[": 1}
    assert file["ground_truth"] == {"A": 5, "B": 3, "C": 1}
    assert file["parsed"] == {"n": 6, "correct": 4, "accuracy": 4 / 6}
    assert file["all_rows"] == {"n": 9, "correct": 5, "accuracy": 5 / 9}
    assert file["high"] == {"n": 2, "correct": 2, "accuracy": 1.0}
    assert file["low"] == {"n": 2, "correct": 0, "accuracy": 0.0}
    assert file["no_certainty"] == 2
    assert file["flag_mismatches"] == 0
    certainty = file["certainty"]
    assert (certainty["missing"], certainty["not_asked"]) == (2, 1)
    assert (certainty["min"], certainty["max"], certainty["above_100"]) == (0, 101, 1)
    assert certainty["at_threshold"] == 1


def test_the_papers_rules_count_a_missing_certainty_as_low(tmp_path):
    rows = [row("A", "90"), row("A", "NA"), row("T", "85"), row("C", "70", "C", prompt=ASKED_TIE)]

    rules = described(tmp_path, rows)["rules"]

    assert rules["drop_nonAB"]["overall"] == {"n": 2, "correct": 2, "accuracy": 1.0}
    assert rules["drop_nonAB"]["low"] == {"n": 1, "correct": 1, "accuracy": 1.0}
    assert rules["all_rows"]["overall"] == {"n": 4, "correct": 3, "accuracy": 0.75}
    assert rules["all_rows"]["high"] == {"n": 2, "correct": 1, "accuracy": 0.5}
    assert rules["keep_ABC"]["overall"] == {"n": 3, "correct": 3, "accuracy": 1.0}


def test_ties_count_as_answers_where_they_were_offered(tmp_path):
    rows = [
        row("C", "NA", "C", prompt=ASKED_TIE),
        row("C", "NA", "A", prompt=ASKED_TIE),
        row("A", "NA", "A", prompt=ASKED_TIE),
        row("N", "NA", "A", prompt=ASKED_TIE),
    ]

    file = described(tmp_path, rows)

    assert file["parsed"] == {"n": 3, "correct": 2, "accuracy": 2 / 3}
    assert file["high"] == file["low"] == {"n": 0, "correct": 0, "accuracy": None}
    assert (file["no_certainty"], file["high_reason"]) == (3, None)


def test_certainty_on_another_scale_is_never_banded(tmp_path):
    rows = [row("A", "5", prompt=ASKED_FIVE), row("B", "4", prompt=ASKED_FIVE, truth="C")]

    file = described(tmp_path, rows)

    assert file["high"]["n"] == file["low"]["n"] == 0
    assert file["high_reason"] == file["low_reason"] == "other_scale"
    assert file["certainty"]["scale"] == [5]
    assert file["certainty"]["values"] == {4: 1, 5: 1}
    assert file["no_certainty"] == 0
    assert file["without_tie_truth"] == {"n": 1, "correct": 1, "accuracy": 1.0}


def test_the_files_own_flag_is_checked_and_repeated_prompts_are_counted(tmp_path):
    rows = [row("A", acc=False), row("A", acc=True, question="other"), row("B", acc=False)]

    file = described(tmp_path, rows)

    assert file["flag_mismatches"] == 1
    assert file["duplicate_prompts"] == 2


def test_identical_responses_are_an_item_like_any_other(tmp_path):
    same = row("B", "50", "B", asst_A="Sleep early.", asst_B="Sleep early.")

    assert described(tmp_path, [same])["parsed"]["correct"] == 1
