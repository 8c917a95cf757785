"""Tables as other programs write them: words for no label, ids, certainties, shapes of files."""

import gzip
import json
import re
import sys
import zipfile

import openpyxl
import pytest

from thirdperson.check.command import options_of
from thirdperson.check.dataset import certainties_of, choices_of
from thirdperson.check.labels import BadTable
from thirdperson.check.levels import scale_of
from thirdperson.check.reading import read_labels

ROWS = [
    {
        "item": n,
        "human_1": ("yes", "no")[n % 2],
        "human_2": "yes",
        "judge": ("no", "yes")[n % 3 > 0],
    }
    for n in range(6)
]


def csv_of(rows, separator=",", end="\n"):
    lines = [separator.join(rows[0]), *(separator.join(map(str, row.values())) for row in rows)]
    return end.join([*lines, ""])


@pytest.fixture
def read(tmp_path):
    """Read labels from the content of a file, or the file at a path."""

    def run(content, *options, name="labels.csv"):
        path = tmp_path / name
        if isinstance(content, (dict, list)):
            content = json.dumps(content)
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_labels(options_of([str(path), *options]))

    return run


def given(labels):
    return sorted((each.item, each.rater, each.is_judge, each.value) for each in labels.labels)


def line_of(labels, part):
    return next((line for line in labels.reading if line.startswith(f"{part}: ")), "")


class TestWordsForNoLabel:
    def test_a_word_that_people_and_the_judge_use_is_a_label(self, read):
        labels = read("item,human_1,human_2,judge\n1,NA,yes,NA\n2,yes,NA,yes\n")

        assert [each.value for each in labels.labels].count("NA") == 3
        assert line_of(labels, "missing") == ""

    def test_a_word_that_only_people_have_is_missing_and_counted(self, read):
        labels = read("item,human_1,human_2,judge\n1,NA,yes,no\n2,yes,,yes\n3,NA,no,no\n")

        assert "NA" not in {each.value for each in labels.labels}
        said = line_of(labels, "missing")
        assert "1 empty of people" in said
        assert "2 “NA” of people" in said
        assert "--missing" in said

    def test_none_is_a_label_even_if_the_judge_never_says_it(self, read):
        labels = read("item,human_1,human_2,judge\n1,none,mild,mild\n2,severe,none,severe\n")

        assert [each.value for each in labels.labels].count("none") == 2
        with pytest.raises(BadTable, match=r"There are 3 different labels.*add --missing none"):
            choices_of(labels)

    def test_programs_alone_write_nan(self, read):
        labels = read("item,human_1,human_2,judge\n1,nan,yes,nan\n2,yes,no,no\n")

        assert len(labels.labels) == 4

    @pytest.mark.parametrize(
        ("options", "count"),
        [
            (("--missing", "skip"), 5),
            (("--missing", "skip,NA"), 4),
            (("--missing", ""), 6),
            (("--labels", "skip,NA"), 6),
        ],
    )
    def test_an_option_chooses_the_words(self, read, options, count):
        labels = read("item,human_1,human_2,judge\n1,skip,yes,yes\n2,NA,no,no\n", *options)

        assert len(labels.labels) == count


class TestLabels:
    def test_labels_that_an_option_names_are_no_tie(self, read):
        labels = read("item,human_1,judge\n1,same,different\n2,different,same\n")

        chosen = choices_of(labels, pair=("same", "different"))
        assert (chosen.first, chosen.second, chosen.tie) == ("same", "different", "")
        assert choices_of(labels).tie == ""

    def test_a_tie_word_next_to_two_labels_is_a_tie(self, read):
        labels = read("item,human_1,judge\n1,a,b\n2,same,Tie (bothbad)\n")

        assert choices_of(labels).tie == "same or Tie (bothbad)" or choices_of(labels).tie == (
            "Tie (bothbad) or same"
        )

    def test_zero_of_three_numbers_is_asked_for(self, read):
        labels = read("item,human_1,judge\n1,0,1\n2,2,1\n")

        with pytest.raises(BadTable, match=r"If 0 means a tie, add --tie 0"):
            choices_of(labels)


class TestNames:
    LONG = "item,rater,label\n1,ann,yes\n1,7.0,no\n1,gpt,yes\n2,ann,no\n2,7,no\n2.0,gpt,no\n"

    def test_an_unknown_judge_is_refused_with_the_names_there_are(self, read):
        with pytest.raises(
            BadTable, match=r"--judge-raters gpt-5: rater has no such name.*7, ann, gpt"
        ):
            read(self.LONG, "--judge-raters", "gpt-5")

    def test_numbers_with_and_without_a_point_are_one_item_and_one_annotator(self, read):
        labels = read(self.LONG, "--judge-raters", "gpt")

        assert labels.items == ["1", "2"]
        assert labels.raters(is_judge=False) == ["7", "ann"]

    @pytest.mark.parametrize(
        ("header", "people", "judges"),
        [
            ("item,winner_human1,winner_human2,winner_judge", 2, 1),
            ("item,annotator1,annotator2,gpt-4o,claude-3,llama_3_70b", 2, 3),
            ("item,human_1_label,rater_2,model_x,gpt-4", 2, 2),
            ("item,human_1,human_2,label_gpt4o,o1-mini", 2, 2),
        ],
    )
    def test_columns_of_people_and_of_several_judges_are_guessed(
        self, read, header, people, judges
    ):
        width = header.count(",")
        rows = "".join(
            f"{n},{','.join(['a', 'b'][n % 2] for _ in range(width))}\n" for n in range(4)
        )

        labels = read(f"{header}\n{rows}")

        assert len(labels.raters(is_judge=False)) == people
        assert len(labels.raters(is_judge=True)) == judges


class TestCertainties:
    def of(self, labels):
        found = certainties_of(labels)
        return {
            who: sorted(
                value for label, value in found.items() if label.is_judge is (who == "judge")
            )
            for who in ("people", "judge")
        }

    @pytest.mark.parametrize(
        ("header", "owner"),
        [
            ("item,human_1,human_2,judge,confidence", "confidence of judge"),
            ("item,confidence,human_1,human_2,judge", "confidence of judge"),
            ("item,human_1,confidence,human_2,judge", "none (whose is confidence?"),
            ("item,human_1,human_2,judge_a,judge_b,confidence", "confidence of judge_b"),
            ("item,confidence,human_1,human_2,judge_a,judge_b", "none (whose is confidence?"),
        ],
    )
    def test_a_lone_certainty_is_the_judges_or_nobodys(self, read, header, owner):
        columns = header.split(",")
        rows = "".join(
            ",".join(
                "90" if c == "confidence" else str(n) if c == "item" else "ab"[n % 2]
                for c in columns
            )
            + "\n"
            for n in range(4)
        )

        assert line_of(read(f"{header}\n{rows}"), "certainty").startswith(f"certainty: {owner}")

    def test_a_certainty_that_all_rows_of_an_item_repeat_is_the_judges(self, read):
        head = "item,annotator,label,judge,gold,confidence\n"
        labels = read(head + "1,a,x,x,x,90\n1,b,y,x,x,90\n2,a,y,y,y,70\n2,b,x,y,y,70\n")
        assert line_of(labels, "certainty") == "certainty: confidence of judge"

        labels = read(head + "1,a,x,x,x,90\n1,b,y,x,x,80\n2,a,y,y,y,70\n2,b,x,y,y,70\n")
        assert line_of(labels, "certainty") == "certainty: confidence of label"

    def test_people_and_judge_have_a_scale_of_their_own(self, read):
        labels = read(
            "item,human_1,human_1_certainty,judge,judge_certainty\n"
            + "".join(f"{n},a,{n},b,{n / 10}\n" for n in range(1, 6))
        )

        found = self.of(labels)

        assert found == {"people": [10, 30, 50, 70, 90], "judge": [10, 20, 30, 40, 50]}
        assert "certainty of people: 1 to 5, each read as the middle of its part of 1 to 100" in (
            labels.reading
        )
        assert "certainty of judge: shares from 0 to 1, read as 1 to 100" in labels.reading

    def test_a_scale_that_the_values_do_not_show_is_asked_for(self, read):
        table = "item,human_1,judge,judge_certainty\n1,a,b,2\n2,b,a,3\n3,a,a,2\n"

        with pytest.raises(BadTable, match=r"certainties of “judge” are 2, 3.*--scale judge=1-5"):
            certainties_of(read(table))

        assert self.of(read(table, "--scale", "judge=1-4"))["judge"] == [38, 38, 62]
        assert self.of(read(table, "--scale", "1-100"))["judge"] == [2, 2, 3]
        with pytest.raises(BadTable, match=r"--scale gpt: no rater of that name"):
            certainties_of(read(table, "--scale", "gpt=1-4"))
        with pytest.raises(BadTable, match=r"use NAME=LOW-HIGH"):
            read(table, "--scale", "judge=five")


class TestFaultyRows:
    TABLE = (
        "item,human_1,human_2,judge,judge_certainty\n1,a,b,a,90\n2,a,b,a,high\n3,a\n4,a,b,b,300\n"
        "5,b,b,b,50\n"
    )

    def test_they_can_be_left_out_and_are_listed(self, read):
        labels = read(self.TABLE, "--skip-faulty")
        certainties_of(labels)

        assert {each.item for each in labels.labels if each.is_judge} == {"1", "5"}
        assert len(labels.skipped) == 3
        assert "line 3, item “2”: judge_certainty is “high”" in labels.skipped[1]
        assert "Line 4: there are 2 cells" in labels.skipped[0]
        assert "line 5, item “4”: the certainty of “judge” is 300" in labels.skipped[2]


def as_workbook(rows, path):
    book = openpyxl.Workbook()
    book.active.append([*rows[0]])
    for row in rows:
        book.active.append([*row.values()])
    book.create_sheet("Notes").append(["not", "read"])
    book.save(path)


class TestShapes:
    @pytest.fixture
    def expected(self, read):
        return given(read(csv_of(ROWS)))

    @pytest.mark.sampled(keep=1)
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("semicolons.csv", "sep=;\r\n" + csv_of(ROWS, ";", "\r\n")),
            ("bars.csv", csv_of(ROWS, "|")),
            ("macintosh.csv", csv_of(ROWS, end="\r")),
            ("labels.csv.gz", gzip.compress(csv_of(ROWS).encode())),
            ("list.json", ROWS),
            ("list.json.gz", gzip.compress(json.dumps(ROWS).encode())),
            ("columns.json", {c: {str(n): r[c] for n, r in enumerate(ROWS)} for c in ROWS[0]}),
            ("lists.json", {c: [r[c] for r in ROWS] for c in ROWS[0]}),
            ("index.json", {str(n): row for n, row in enumerate(ROWS)}),
            (
                "split.json",
                {"columns": [*ROWS[0]], "index": [0], "data": [[*row.values()] for row in ROWS]},
            ),
            ("table.json", {"schema": {"fields": []}, "data": ROWS}),
            ("pretty.json", json.dumps({"rows": ROWS}, indent=2)),
        ],
    )
    def test_the_same_labels_are_read_from_any_of_them(self, read, expected, name, content):
        assert given(read(content, name=name)) == expected

    def test_a_zip_of_one_table_is_read(self, read, expected, tmp_path):
        with zipfile.ZipFile(tmp_path / "labels.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("labels.csv", csv_of(ROWS))
            archive.writestr("__MACOSX/._labels.csv", b"\x00\x05")
            archive.writestr("README.txt", "About the labels")

        assert given(read(None, name="labels.zip")) == expected

    def test_a_zip_of_one_file_is_read_whatever_its_name(self, read, expected, tmp_path):
        with zipfile.ZipFile(tmp_path / "labels.zip", "w") as archive:
            archive.writestr("labels", csv_of(ROWS))

        assert given(read(None, name="labels.zip")) == expected

    def test_commas_of_a_quoted_question_do_not_separate_cells(self, read, expected):
        header, _, rows = csv_of(ROWS, ";").partition("\n")

        labels = read(
            f'{header};"Which, if any, of these, or none, is it?"\n' + rows.replace("\n", ";\n")
        )

        assert given(labels) == expected

    def test_the_first_sheet_of_a_workbook_is_read(self, read, expected, tmp_path):
        as_workbook(ROWS, tmp_path / "labels.xlsx")

        labels = read(None, name="labels.xlsx")

        assert given(labels) == expected
        assert labels.labels[0].where == "labels.xlsx, line 2, item “0”"

    def test_rows_by_id_and_a_table_with_named_rows_keep_the_ids(self, read):
        by_id = {f"q{row['item']}": {k: v for k, v in row.items() if k != "item"} for row in ROWS}
        columns = {c: {item: row[c] for item, row in by_id.items()} for c in by_id["q0"]}

        assert read(by_id).items == [f"q{n}" for n in range(6)]
        assert given(read(columns)) == given(read(by_id))

    def test_a_row_of_a_list_is_named_by_its_number_and_item(self, read):
        rows = [*ROWS, {**ROWS[0], "human_1": "no"}]

        with pytest.raises(BadTable, match=r"labels.json, entry 7, item “0”: a second label"):
            read(rows, name="labels.json")

    @pytest.mark.parametrize(
        ("document", "message"),
        [
            (
                {"model": {"a": 1}, "runs": [[1], [2]]},
                "one JSON object with the keys “model”, “runs”",
            ),
            ([["item", "judge"], ["1", "a"]], "Entry 1: the row is a list inside the list"),
            (["a", "b"], "Entry 1: the row is a text, not a JSON object"),
        ],
    )
    def test_json_of_another_shape_is_refused_by_its_shape(self, read, document, message):
        with pytest.raises(BadTable) as refused:
            read(json.dumps(document, indent=1), name="labels.json")

        assert message in str(refused.value)
        assert "not JSON " not in str(refused.value)
        assert "Write a list of objects" in str(refused.value)


class TestPublicDataSets:
    def test_lewidi_is_read_with_a_judge_and_refused_without(self, read):
        items = {
            str(n): {
                "text": "a text",
                "annotators": "Ann1,Ann2,Ann3",
                "annotations": "0,1,1" if n % 2 else {"Ann1": "0", "Ann2": "0", "Ann3": "1"},
                "hard_label": "1",
                "soft_label": {"0": 0.3, "1": 0.7},
            }
            for n in range(4)
        }
        with pytest.raises(BadTable, match=r"This looks like LeWiDi.*none by a judge"):
            read(items)

        labels = read({key: {**item, "judge": "1"} for key, item in items.items()})

        assert labels.raters(is_judge=False) == ["Ann1", "Ann2", "Ann3"]
        assert len(labels.labels) == 4 * 3 + 4
        assert labels.items == ["0", "1", "2", "3"]

    def test_pandalm_is_read_with_a_judge_and_refused_without(self, read):
        rows = [
            {"idx": n, "instruction": "x", "response1": "a", "response2": "b"}
            | {f"annotator{k}": (n + k) % 3 for k in (1, 2, 3)}
            for n in range(6)
        ]
        with pytest.raises(BadTable, match=r"This looks like PandaLM.*--tie 0"):
            read(rows)

        labels = read([row | {"judge": row["annotator1"]} for row in rows])

        assert choices_of(labels, tie=("0",)).words == (
            "“1” as response 1, “2” as response 2, and “0” for a tie"
        )
        assert labels.items == [str(n) for n in range(6)]

    def test_llmbar_is_refused_with_what_it_has(self, read):
        rows = [
            {"input": "x", "output_1": "a", "output_2": "b", "label": n % 2 + 1} for n in range(4)
        ]

        with pytest.raises(BadTable, match=r"This looks like LLMBar: one right label"):
            read(rows)

        people = {"human_1": 1, "human_2": 2, "judge": 1}
        labels = read([row | people for row in rows])
        assert labels.gold == {f"row {n + 1:06}": str(n % 2 + 1) for n in range(4)}


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--judge-raters", "judge"], "each annotator of this table has a column"),
            (
                ["--certainty", "jugde=human_1"],
                "--certainty jugde: this is not a column of labels",
            ),
        ],
    )
    def test_an_option_that_fits_nothing_is_refused(self, read, options, message):
        with pytest.raises(BadTable, match=message):
            read(csv_of(ROWS), *options)

    def test_one_value_that_is_too_large_is_not_called_broken(self, read, monkeypatch):
        monkeypatch.setattr("studies.importers.files.json_rows.MAX_DOCUMENT", 100)
        columns = {c: {str(n): r[c] for n, r in enumerate(ROWS)} for c in ROWS[0]}

        with pytest.raises(
            BadTable, match=r"one JSON value of over 0 MB.*Write one JSON object a line"
        ):
            read(json.dumps(columns, indent=1))

        assert given(read("".join(json.dumps(row) + "\n" for row in ROWS))) == given(read(ROWS))


def native(tmp_path, *columns, rows, options=()):
    """The certainties of the judge's labels in a table with these columns, and what was read."""
    path = tmp_path / "native.csv"
    lines = [("item", "human_1", "human_2", "judge", *columns)]
    lines += [(f"q{n}", "A", "B", *row) for n, row in enumerate(rows)]
    path.write_text("\n".join(",".join(map(str, line)) for line in lines))
    labels = read_labels(options_of([str(path), *options]))
    certainties = certainties_of(labels)
    stated = {label.item: certainties.get(label) for label in labels.labels if label.is_judge}
    return [stated[f"q{n}"] for n in range(len(rows))], "\n".join(labels.reading)


@pytest.mark.parametrize(
    ("columns", "rows", "options", "expected"),
    [
        (["probability"], [("A", 0.9925), ("B", 0.5), ("A", "")], (), [99.25, 50, None]),
        (["judge_prob"], [("A", 0.75), ("B", 1), ("A", 0)], (), [75, 100, 1]),
        (["p_a"], [("A", 0.75), ("B", 0.75)], (), [75, 25]),
        (
            ["p_A", "p_B", "p_tie"],
            [("A", 0.6, 0.3, 0.1), ("tie", 0.2, 0.2, 0.6), ("B", 0.1, 0.9, 0)],
            (),
            [60, 60, 90],
        ),
        (["x"], [("A", 0.75), ("B", 0.5)], ("--probability", "judge=x"), [75, 50]),
        (["x"], [("A", 0.75), ("B", 0.75)], ("--probability", "judge=x:A"), [75, 25]),
        (
            ["x", "y"],
            [("A", 0.75, 0.25), ("B", 0.25, 0.75)],
            ("--probability", "judge=x:A,judge=y:b"),
            [75, 75],
        ),
    ],
)
def test_native_probabilities_are_the_certainty_of_a_judge(
    tmp_path, columns, rows, options, expected
):
    found, read = native(tmp_path, *columns, rows=rows, options=options)

    assert found == expected
    assert "native: the probability of its label" in read


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        (["probability"], ("A", 1.5)),  # no probability
        (["probability", "judge_certainty"], ("A", 0.5, 70)),  # a stated certainty comes first
        (["p_value"], ("A", 0.05)),  # of no label
    ],
)
def test_a_column_that_is_no_probability_of_a_label_is_not_guessed(tmp_path, columns, row):
    _, read = native(tmp_path, *columns, rows=[row])

    assert "native" not in read


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("judge=x", "x is “1.5”. Write a probability from 0 to 1"),
        ("judge", "write JUDGE_COLUMN=COLUMN"),
        ("judge=z", "no column “z”"),
        ("x=x", "--probability x: this is not a column of labels"),
    ],
)
def test_probabilities_that_cannot_be_read_are_refused(tmp_path, option, words):
    with pytest.raises(BadTable, match=re.escape(words)):
        native(tmp_path, "x", rows=[("A", 1.5)], options=("--probability", option))


BOTH = "item,human_1,human_2,judge\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        # A model's labels and right labels are not labels of people.
        (
            "id,gold_label,gpt_label\n1,a,b\n2,b,b\n",
            r"none by people.*--people gold_label --judge gpt",
        ),
        # Criteria are not annotators.
        (
            "id,human_tone,human_facts,judge_tone,judge_facts\n1,a,b,a,b\n",
            r"several things: tone, facts\. .*--people human_tone --judge judge_tone",
        ),
        # What two models are called is not a label.
        (
            "id,model_a,model_b,winner1\n1,gpt-4,llama-2,a\n2,llama-2,gpt-4,b\n",
            r"labels by a judge",
        ),
        (
            "id,worker_id,is_true,text\n1,w1,yes,x\n2,w2,no,y\n",
            r"--annotator worker_id --label COL.*is_true",
        ),
        # A judge's labels that nobody else uses.
        (
            "id,human_1,gpt_4\n1,a,a\n2,b,broken\n",
            r"Is it gpt_4\? It has labels that people do not use \(broken\).*--judge gpt_4",
        ),
        ("id,human_1\n1,a\n2,b\n", r"If no judge has labelled .*what people did \(human_1\)"),
        ("id,judge\n1,a\n2,b\n", r"If no person has labelled the items of judge yet, ask people"),
        # People by any names, or criteria.
        (
            "id,Anna,Ben,judge\n1,a,b,a\n2,b,a,b\n",
            r"Anna, Ben have the same labels as judge.*--people Anna,Ben\. .*--people Anna\.",
        ),
        # Who somebody is is not what they said, and the label has the judge's words.
        (
            "id,rater_id,rater_gender,Q_overall,judge\n1,r1,man,a,a\n2,r2,woman,b,b\n",
            r"--annotator rater_id --label COLUMN, such as Q_overall\.",
        ),
        (
            'id,scores,judge\n1,"[1, 2]",1\n2,"[2, 1]",2\n',
            r"scores is a list, which does not say who .*--people scores\.0,scores\.1",
        ),
        (
            "id,raters,labels,judge\n1,\"['u', 'u']\",\"['a', 'b']\",a\n",
            r"item “1”: a second label of “u”",
        ),
        (
            "hit_id,post,worker_id,label,judge\n1,p,w,a,a\n1,q,w,b,b\n",
            r"a second label of “w”.*--on hit_id,post",
        ),
        (
            "hit_id,post,worker_id,label,judge\n1,p,v,a,a\n1,p,w,a,a\n1,q,x,b,b\n1,q,y,b,b\n",
            r"judge is “b” here but differs .*\(--item COLUMN\)\.",
        ),
        (
            "question_id,turn,human_1,judge\n1,1,a,a\n1,2,b,b\n2,1,a,b\n2,2,b,a\n",
            r"a second label of “human_1” .*--on question_id,turn",
        ),
        (
            "id,human_1,judge\n1,a,a\n1,b,a\n2,b,b\n",
            r"a second label of “human_1” .*: --item COLUMN\.",
        ),
    ],
)
def test_what_a_table_lacks_is_said_with_the_way_out(read, content, message):
    with pytest.raises(BadTable, match=message):
        read(content)


@pytest.mark.parametrize(
    ("content", "people", "judge"),
    [
        (
            "id,ann1,Anno 2,Dr. Smith,AI\n1,a,b,a,a\n2,b,a,b,b\n",
            ["Anno 2", "Dr. Smith", "ann1"],
            "AI",
        ),
        # Each row is by two of three people, so the columns are no criteria.
        ("id,Al,Bo,Cy,GPT4\n1,a,b,,a\n2,b,,a,b\n3,,a,b,b\n", ["Al", "Bo", "Cy"], "GPT4"),
        (
            "id,physician_ids,binary_labels,judge\n1,\"['u', 'v']\",\"[True, False]\",true\n"
            "2,\"['w']\",[False],false\n3,[],[],true\n",
            ["u", "v", "w"],
            "judge",
        ),
    ],
)
def test_people_are_found_where_nothing_else_is_possible(read, content, people, judge):
    labels = read(content)

    assert labels.raters(is_judge=False) == people
    assert labels.raters(is_judge=True) == [judge]


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_somebody_at_a_terminal_says_whether_columns_are_people(read, monkeypatch, answer):
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: answer)
    content = "id,Anna,Ben,judge\n1,a,b,a\n2,b,a,b\n"

    if answer == "no":
        with pytest.raises(BadTable, match="have the same labels as judge"):
            read(content)
    else:
        assert read(content).raters(is_judge=False) == ["Anna", "Ben"]


def test_labels_that_judge_and_people_do_not_share_are_refused(read):
    rows = "".join(f"{n},{'ab'[n % 2]},{'ab'[n % 2]},{'AB'[n % 2]}x\n" for n in range(20))
    labels = read(BOTH + rows)

    with pytest.raises(BadTable, match="judge gives Ax, Bx, and people give a, b: no label is in"):
        scale_of(labels, options_of(["labels.csv"]))


@pytest.mark.parametrize("others", ["b", "bc"])
def test_people_who_name_the_same_labels_otherwise_are_refused(read, others):
    columns = "".join(f"human_{name}," for name in f"a{others}")
    rows = "".join(
        f"{n},{n % 2},{','.join([('no', 'yes')[n % 2]] * len(others))},{n % 2}\n" for n in range(20)
    )
    labels = read(f"id,{columns}judge\n{rows}")

    with pytest.raises(BadTable, match="human_a gives 0, 1, and other people give no, yes: no"):
        scale_of(labels, options_of(["labels.csv"]))


def test_a_certainty_without_numbers_and_a_column_of_models_are_not_used(read):
    labels = read("id,human,human_confidence,model,judge\n1,a,True,gpt-4,a\n2,b,True,o_1,b\n")

    assert labels.raters(is_judge=True) == ["judge"]
    assert line_of(labels, "certainty") == "certainty: none (human_confidence has no numbers)"


@pytest.mark.parametrize("column", ["annotator", "judge"])
def test_models_among_those_who_gave_labels_are_judges(read, column):
    raters = ("expert_1", "Claude", "gpt4_pair")
    rows = "".join(f"{n},{rater},{'ab'[n % 2]}\n" for n in range(4) for rater in raters)

    labels = read(f"question_id,{column},winner\n{rows}")

    assert labels.raters(is_judge=False) == ["Claude", "expert_1"]
    assert labels.raters(is_judge=True) == ["gpt4_pair"]
    assert line_of(labels, "judge") == "judge: gpt4_pair"
