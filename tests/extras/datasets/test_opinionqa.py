"""OpinionQA, on files in its shapes with words of our own."""

import zipfile
from collections import Counter

import pytest

from studies.errors import BadOption
from tests.studies.sets.made import changed, fixture, keys, labels, made, refusal, sentences

WAVE = fixture("opinionqa/American_Trends_Panel_W99")


def wave(folder, number, rows, *, questions=("FIRST", "SECOND")):
    """A wave with `rows` of (weight, answer to every question)."""
    folder = folder / f"American_Trends_Panel_W{number}"
    folder.mkdir(parents=True)
    mapping = "{1.0: 'Yes', 2.0: 'No', 99.0: 'Refused'}"
    info = [f'0,{q}_W{number},"{mapping}",{q}?,"[1.0, 2.0]"' for q in questions]
    (folder / "info.csv").write_text(
        "\n".join([",key,option_mapping,question,option_ordinal", *info]) + "\n"
    )
    header = ["QKEY", f"WEIGHT_W{number}", *(f"{q}_W{number}" for q in questions)]
    lines = [f"{','.join(header)},CREGION,AGE,SEX,EDUCATION,POLPARTY"]
    for person, (weight, answer) in enumerate(rows, start=1):
        cells = [str(person), str(weight), *[answer] * len(questions)]
        lines.append(f"{','.join(cells)},South,18-29,Female,Postgraduate,Other")
    (folder / "responses.csv").write_text("\n".join(lines) + "\n")
    return folder


def questions_of(read):
    return Counter(item.values["group"] for item in read.items)


def test_binary_questions_give_items_and_refused_or_blank_answers_do_not():
    read = made("opinionqa")

    assert questions_of(read) == {"MEET_W99": 2, "TRUST_W99": 3}
    assert read.dropped == {
        "questions that do not have two options": 1,
        "answers that are refused, blank or not an option": 3,
    }


def test_a_literal_with_mixed_quotes_a_comma_and_an_apostrophe_survives():
    (item,) = [item for item in made("opinionqa").items if item.key == "opinionqa-MEET_W99-1002"]
    texts = {item.values[side]["text"] for side in ("r1", "r2")}
    own = item.values[item.values["first_person"]]["text"]

    assert texts == {"In person", "Online, it's easier"}
    assert own == "Online, it's easier"
    assert item.values["metadata"]["option_ordinal"] == [1.0, 2.0]
    assert item.values["r1"]["generated_by"]["kind"] == "survey_option"


def test_refused_demographics_leave_no_sentence_or_say_so_on_request():
    key = "opinionqa-TRUST_W99-1003"

    assert sentences(made("opinionqa"), key) == [
        "The person lives in the Midwest of the United States.",
        "The person is 65+ years old.",
        "The person is female.",
        "The person's highest level of education is: high school graduate.",
        "The person is a citizen of the United States.",
        "The person's marital status is: widowed.",
        "The person's religious affiliation is: Nothing in particular.",
        "The person attends religious services: seldom.",
        "The person's ethnicity is Black.",
    ]
    kept = sentences(made("opinionqa", refused="keep"), key)
    assert "Asked about this, the person refused to answer: income." in kept


def test_sides_vary_and_are_balanced_or_keep_the_surveys_order(tmp_path):
    wave(tmp_path, 1, [(1, "Yes")] * 40)

    varied = made("opinionqa", tmp_path)
    kept = made("opinionqa", tmp_path, shuffle="false")

    assert labels(varied).count("r1") == 40
    assert {item.values["shuffle_sides"] for item in varied.items} == {True}
    assert {(i.values["r1"]["text"], i.values["fixed_first"]) for i in kept.items} == {
        ("Yes", "r1")
    }
    assert set(labels(kept)) == {"r1"}


def test_one_question_a_topic_is_drawn_where_a_file_of_topics_is_given(tmp_path):
    wave(tmp_path / "hr", 1, [(1, "Yes")])
    wave(tmp_path / "hr", 2, [(1, "No")])
    topics = tmp_path / "topics.csv"
    topics.write_text("key,topic\nFIRST_W1,Health\nSECOND_W1,Health\nFIRST_W2,Work\n")
    paths = (tmp_path / "hr", topics)

    by_seed = {tuple(questions_of(made("opinionqa", *paths, seed=n))) for n in range(8)}

    assert by_seed == {("FIRST_W1", "FIRST_W2"), ("SECOND_W1", "FIRST_W2")}
    read = made("opinionqa", *paths)
    assert {item.values["topic"] for item in read.items} == {"Health", "Work"}
    assert read.dropped["questions with two options that were not drawn"] == 2


def test_without_topics_every_question_is_asked_and_the_report_says_so():
    assert list(made("opinionqa").notes.values()) == [1]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"questions": "one_binary_per_wave"}, ["FIRST_W1", "FIRST_W2"]),
        ({"questions": "all_binary", "waves": "2"}, ["FIRST_W2", "SECOND_W2"]),
        ({"questions": "SECOND_W1"}, ["SECOND_W1"]),
        ({"waves": "W1"}, ["FIRST_W1", "SECOND_W1"]),
    ],
)
def test_questions_and_waves_can_be_chosen(tmp_path, options, expected):
    wave(tmp_path, 1, [(1, "Yes")])
    wave(tmp_path, 2, [(1, "No")])

    assert sorted(questions_of(made("opinionqa", tmp_path, **options))) == expected


def test_respondents_are_drawn_for_each_question_evenly_or_by_weight(tmp_path):
    wave(tmp_path, 1, [(9 if n % 2 else 1, "Yes") for n in range(400)], questions=["FIRST"])

    even = made("opinionqa", tmp_path, respondents=100)
    weighted = made("opinionqa", tmp_path, respondents=100, sampling="weighted")

    assert len(even.items) == len(weighted.items) == 100
    assert even.dropped["answers beyond 100 per question"] == 300
    heavy = [[i.values["metadata"]["weight"] == 9 for i in read.items] for read in (even, weighted)]
    assert 30 <= sum(heavy[0]) <= 70
    assert sum(heavy[1]) > 75


def test_who_has_no_weight_is_not_drawn_by_weight(tmp_path):
    wave(tmp_path, 1, [("", "Yes"), (0, "Yes"), (1, "No")], questions=["FIRST"])

    read = made("opinionqa", tmp_path, sampling="weighted")

    assert len(read.items) == 1
    assert read.dropped["answers of people without a weight"] == 2


def test_a_single_wave_may_be_given_by_its_files_and_many_as_a_zip(tmp_path):
    alone = made("opinionqa", WAVE / "info.csv", WAVE / "responses.csv")
    with zipfile.ZipFile(tmp_path / "human_resp.zip", "w") as archive:
        for path in WAVE.iterdir():
            archive.write(path, f"human_resp/{WAVE.name}/{path.name}")
    zipped = made("opinionqa", tmp_path / "human_resp.zip")

    assert keys(alone) == keys(zipped) == keys(made("opinionqa"))


def test_a_literal_that_cannot_be_read_is_named_and_never_evaluated(tmp_path):
    trap = tmp_path / "trap"
    evil = f"__import__('pathlib').Path('{trap}').touch()"
    folder = changed(
        "opinionqa",
        tmp_path,
        "info.csv",
        lambda t: t.replace("{1.0: 'Yes', 2.0: 'No'}", evil).replace("Never', 99.0", "Never, 99"),
    )

    first, second = refusal("opinionqa", folder)
    info = f"opinionqa/{WAVE.name}/info.csv"

    assert f"Line 2 of {info}: option_mapping of PARKS_W99 cannot be read." in first
    assert f"Line 4 of {info}: option_mapping of TRUST_W99 cannot be read." in second
    assert not trap.exists()


def test_deeply_nested_literals_are_refused_like_any_other(tmp_path):
    folder = changed(
        "opinionqa",
        tmp_path,
        "info.csv",
        lambda t: t.replace("{1.0: 'Yes', 2.0: 'No'}", "(" * 15_000),
    )

    (fault,) = refusal("opinionqa", folder)

    assert "option_mapping of TRUST_W99 cannot be read" in fault


def test_a_wave_without_answers_and_a_name_that_is_not_there_are_told(tmp_path):
    folder = changed("opinionqa", tmp_path, "info.csv", str)
    (folder / WAVE.name / "responses.csv").unlink()

    assert "a row for each respondent (responses.csv)" in refusal("opinionqa", folder)[0]
    assert "the files have no wave W7. They have W99" in refusal("opinionqa", waves="7")[0]
    assert "no question X_W99 with two options" in refusal("opinionqa", questions="X_W99")[0]
    with pytest.raises(BadOption, match="sampling must be one of random, weighted"):
        made("opinionqa", sampling="heavy")


def test_a_row_with_other_cells_than_the_header_is_named(tmp_path):
    folder = changed("opinionqa", tmp_path, "responses.csv", lambda t: t + "1005,1.0,Never\n")

    assert "responses.csv: there are 3 cells, the header has 17" in refusal("opinionqa", folder)[0]


def test_the_first_respondents_are_those_of_the_file():
    drawn = made("opinionqa", questions="TRUST_W99", respondents=2, sampling="first")
    every = made("opinionqa", questions="TRUST_W99")

    assert keys(drawn) == keys(every)[:2]
