import json

import pytest

from extras.replication.released.result_files import ResultName, UnreadableFile, read_rows
from tests.extras.replication.released.rows import ASKED_FIVE, ASKED_TIE, row, write_file


@pytest.mark.parametrize(
    ("file", "title", "with_tie", "edition"),
    [
        ("ap_all_features_all_features_gpt-3.5-turbo.jsonl", "PR · GPT-3.5", False, ""),
        ("ap_all_features_all_features_gpt-4o_jun5.jsonl", "PR · GPT-4", False, "jun5"),
        ("ec_all_features_command-r-plus.jsonl", "EC · Command R+", False, ""),
        (
            "ec_no_persona_all_features_command-r-plus.jsonl",
            "EC · Command R+ · no persona",
            False,
            "",
        ),
        (
            "prism_no_persona_command-r-plus_new.jsonl",
            "PRISM · Command R+ · no persona",
            False,
            "new",
        ),
        (
            "prism_all_features_with_tie_all_features_meta-llama_Meta-Llama-3-70B-Instruct_jun5.jsonl",
            "PRISM · Llama-3 70B · with tie",
            True,
            "jun5",
        ),
        (
            "opinionqa_all_features_key_features_gpt-4o_jun_11.jsonl",
            "OpinionQA · GPT-4 · three features",
            False,
            "jun_11",
        ),
        (
            "prism_all_features_least_imp_feature_mistral-7b.jsonl",
            "PRISM · mistral-7b · least important feature",
            False,
            "",
        ),
    ],
)
def test_a_name_says_data_set_model_features_and_setting(file, title, with_tie, edition):
    name = ResultName.parse(file)

    assert (name.title, name.with_tie, name.edition) == (title, with_tie, edition)


@pytest.mark.parametrize(
    "file",
    [
        "README.md",
        "prism.jsonl",
        "notes_all_features_gpt-4o.jsonl",
        "prism_all_features_gpt-4o.json",
        "ec_some_features_gpt-4o.jsonl",
        "../prism_all_features_gpt-4o.jsonl",
        "prism_all_features_.jsonl",
    ],
)
def test_other_names_are_no_results(file):
    assert ResultName.parse(file) is None


def test_rows_are_read_past_carriage_returns_and_other_separators(tmp_path):
    path = write_file(tmp_path, "prism_all_features_gpt-4o.jsonl", [row(), row(answer="B")])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n") + b"\n\n")

    rows = read_rows(path)

    assert [r.answer for r in rows] == ["A", "B"]


@pytest.mark.parametrize(
    ("stated", "read"),
    [
        ("80", 80),
        (80, 80),
        (80.0, 80),
        ("NA", None),
        (False, None),
        (True, None),
        (None, None),
        ("", None),
        ("high", None),
        ("0", 0),
        ("-5", None),
        (72.5, None),
        ("²", None),
    ],
)
def test_certainty_is_a_whole_number_or_missing(tmp_path, stated, read):
    path = write_file(tmp_path, "ec_all_features_gpt-4o.jsonl", [row(certainty=stated)])

    assert read_rows(path)[0].certainty == read


@pytest.mark.parametrize("answer", [False, "[", "T", "N", "", "AB", "a", None, ["A"]])
def test_what_is_no_verdict_is_kept_as_missing(tmp_path, answer):
    path = write_file(tmp_path, "ec_all_features_gpt-4o.jsonl", [row(answer=answer, acc=False)])

    found = read_rows(path)[0]

    assert (found.answer, found.parsed, found.correct) == (None, False, False)


def test_a_tie_is_a_verdict_only_where_the_prompt_offered_it(tmp_path):
    rows = [row(answer="C", truth="C"), row(answer="C", truth="C", prompt=ASKED_TIE)]
    path = write_file(tmp_path, "prism_all_features_gpt-4o.jsonl", rows)

    assert [r.parsed for r in read_rows(path)] == [False, True]


def test_the_scale_of_certainty_is_the_one_that_the_prompt_names(tmp_path):
    rows = [row(), row(prompt=ASKED_FIVE), row(prompt=ASKED_TIE)]
    path = write_file(tmp_path, "prism_all_features_gpt-4o.jsonl", rows)

    assert [r.scale for r in read_rows(path)] == [100, 5, None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n", "line 1: not a released result"),
        (b"", "is empty"),
        (b"[1, 2]\n", "line 1: .*must contain an object"),
        (b'{"prompt": "x", "answer": "A"}\n', "lacks certainty, ground_truth"),
        (json.dumps(row(truth="D")).encode(), "ground_truth is 'D'"),
        (json.dumps(row()).encode() + b'\n{"prompt": \xff}\n', "line 2: not a released result"),
    ],
)
def test_a_file_that_is_no_result_is_refused_with_its_line(tmp_path, content, message):
    path = tmp_path / "ec_all_features_gpt-4o.jsonl"
    path.write_bytes(content)

    with pytest.raises(UnreadableFile, match=message):
        read_rows(path)
