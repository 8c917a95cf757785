"""Files with labels, each read back by its own reader and compared with JSON Lines."""

import csv
import json
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec

import pyarrow.parquet
import pytest
from django.core.management import CommandError, call_command

from analysis.exports.columns import ANNOTATIONS, ANNOTATORS, IDENTIFIED, JUDGMENTS, Column
from analysis.exports.requests import name_of
from analysis.exports.study_export import write_queued
from analysis.exports.table_files import ExportTableFile, write_table
from analysis.models import Export
from annotation.models import Annotation, Assignment
from extras.documents.data_files import formats
from extras.documents.data_files.meanings import WhyMissing
from studies.exporters.tables import TooLarge
from studies.models import Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.exports.helpers import export, rows
from tests.api.conftest import program
from tests.factories import make_item, make_study, sign_in

PYREADSTAT = pytest.mark.skipif(
    not (find_spec("pyreadstat") and find_spec("pandas")),
    reason="pip install -r requirements-files.txt",
)
NAMES = [each.name for each in ANNOTATIONS]


@pytest.fixture
def study(db) -> Study:
    """One person answered and skipped, one was not asked, one withdrew; judges replied or not."""
    study = make_study(slug="one", title="Café ; =1+1", allow_tie=True)
    first, second, third = (make_item(study=study, key=key) for key in ("i1", "i2", "i-3"))
    rater, other, gone = (make_rater(study=study) for _ in range(3))
    answer(rater, first, "r2", 81)
    answer(rater, second, "tie", None)
    answer(rater, third, "r1", 50)
    Annotation.objects.filter(assignment__item=third).delete()
    Assignment.objects.filter(item=third).update(state="skipped", is_surplus=True)
    answer(other, first, "r1", 7)
    gone.state = "withdrew"
    gone.save()
    run, plain = make_run(study=study), make_run(study=study, setting="standard")
    judge_item(run, first, "r1", 60, raw_text="=1;\n “é” " + "x" * 3000)
    judge_item(run, second, "tie")
    judge_item(run, third, state="skipped")
    judge_item(plain, first, "r2")
    judge_item(plain, second, state="refused")
    return study


def read_spss(path):
    import pyreadstat

    return pyreadstat.read_sav(path, user_missing=True, output_format="dict")


def read_stata(path):
    import pyreadstat

    return pyreadstat.read_dta(path, user_missing=True, output_format="dict")


READERS = {"sav": read_spss, "dta": read_stata}
CODES_OF_MISSING = {
    "sav": {int(why): why.label for why in WhyMissing},
    "dta": {why.letter: why.label for why in WhyMissing},
}


def read_back(form, path, columns):
    """Rows as in JSON Lines, with the labels of missing codes instead of a missing value."""
    found, facts = READERS[form](path)
    lines = []
    for cells in zip(*found.values(), strict=True):
        row: dict[str, object] = {}
        for column, name, cell in zip(columns, found, cells, strict=True):
            labels = facts.variable_value_labels.get(name, {})
            if cell != cell or cell == "" or cell is None or str(cell) == "NaT":
                row[column.name] = None
            elif cell in labels:
                row[column.name] = labels[cell]
            elif column.kind == "time":
                row[column.name] = f"{cell:%Y-%m-%dT%H:%MZ}"
            else:
                row[column.name] = cell
        lines.append(row)
    return lines, facts


def expected(row, columns):
    """A row of JSON Lines as the labelled files have it."""
    texts = {True: "yes", False: "no"}
    found = {}
    for column in columns:
        value = row[column.name]
        if column.kind == "boolean":
            value = texts.get(value)
        elif column.kind == "json" and value is not None:
            value = json.dumps(value, ensure_ascii=False)
        found[column.name] = value if value != "" else None
    return found


@PYREADSTAT
@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize(
    ("what", "columns"), [("annotations", ANNOTATIONS), ("judgments", JUDGMENTS)]
)
def test_every_value_comes_back_and_a_missing_one_with_its_reason(
    study, tmp_path, form, what, columns
):
    plain = rows(export(study, what, tmp_path / "a.jsonl"))

    found, facts = read_back(
        form, export(study, what, tmp_path / f"a.{form}", format=form), columns
    )

    reasons = {why.label for why in WhyMissing}
    assert len(found) == len(plain)
    for row, there in zip(plain, found, strict=True):
        wanted = expected(row, columns)
        assert {key: value for key, value in there.items() if value != wanted[key]}.items() <= {
            (key, reason) for key, value in wanted.items() if value is None for reason in reasons
        }
    assert list(facts.column_names) == [column.name for column in columns]
    assert facts.file_label == f"Café ; =1+1: {what}"
    assert facts.column_names_to_labels["choice"] == "r1, r2 or tie: the answer in content terms."
    by_item = [(row["choice"], row["certainty"]) for row in found]
    if what == "annotations":
        assert by_item == [("r2", 81), ("r1", 7), ("tie", "undefined")]
        assert {row["initial_choice"] for row in found} == {"not asked"}
    else:
        assert set(by_item) == {
            ("r1", 60),
            ("r2", "not asked"),
            ("tie", "undefined"),
            ("skipped", "skipped"),
            ("undefined", "undefined"),
        }


@PYREADSTAT
def test_codes_of_missing_values_are_missing_to_a_program_that_does_not_ask_for_them(
    study, tmp_path
):
    import pyreadstat

    path = export(study, "annotations", tmp_path / "a.sav", format="sav")

    found, facts = pyreadstat.read_sav(path, output_format="dict")

    assert sorted(map(str, found["certainty"])) == ["7.0", "81.0", "None"]
    assert facts.variable_measure["certainty"] == "scale"
    assert facts.variable_measure["choice"] == "nominal"
    assert facts.missing_ranges == {}


@PYREADSTAT
@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("what", ["wide", "reliability"])
def test_a_matrix_tells_items_that_were_skipped_from_items_that_were_not_asked(
    study, tmp_path, what, form
):
    head, *lines = csv.reader(
        export(study, what, tmp_path / "a.csv").read_text("utf-8").splitlines()
    )
    columns = [Column(name, "text", "") for name in head]

    found, facts = read_back(
        form, export(study, what, tmp_path / f"a.{form}", format=form), columns
    )

    answers = {value for row in found for value in row.values()}
    assert {"skipped", "not asked", "tie"} <= answers
    assert len(found) == len(lines)
    if what == "reliability":
        assert "i-3: Answer to i-3." in facts.column_labels
        given = {(row["rater_id"], key): value for row in found for key, value in row.items()}
        for cells in lines:
            named = dict(zip(head, cells, strict=True))
            for key in head[1:]:
                value = given[named["rater_id"], key]
                assert value == {"": value, "1": "r1", "2": "r2", "3": "tie"}[named[key]]
    else:
        run = next(name for name in head if name.startswith("J_") and "standard" in name)
        assert [row[run] for row in found] == ["not asked", "r2", "undefined"]


@PYREADSTAT
def test_people_who_withdrew_are_marked_where_an_export_has_them(study, tmp_path):
    path = export(study, "annotators", tmp_path / "a.sav", format="sav", identified=True)

    found, _ = read_back("sav", path, (*ANNOTATORS, *IDENTIFIED))

    assert {row["state"]: row["machine_points"] for row in found} == {
        "completed": 0,
        "withdrew": "withdrawn",
    }
    assert path.stat().st_mode & 0o077 == 0


# Reads a file, and prints the answers with their labels, and the codes of missing ones.
R_SCRIPT = """
if (!requireNamespace("haven", quietly = TRUE)) quit(status = 3)
path <- commandArgs(trailingOnly = TRUE)
spss <- grepl("sav$", path)
rows <- if (spss) haven::read_sav(path, user_na = TRUE) else haven::read_dta(path)
missing <- if (spss) is.na(rows$certainty) else haven::na_tag(rows$certainty)
stopifnot(all(is.na(rows$certainty[rows$choice %in% 3])))
choice <- as.character(haven::as_factor(rows$choice))
cat(paste(rows$item_id, choice, haven::as_factor(rows$certainty), missing), sep = "\\n")
"""


# Next to it, pyreadstat reads the same files by default.
@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("Rscript"), reason="R is not installed")
@PYREADSTAT
@pytest.mark.parametrize(
    ("form", "codes"), [("sav", ["FALSE", "TRUE", "TRUE", "TRUE", "TRUE"]), ("dta", "-dbad")]
)
def test_r_reads_the_answers_and_why_a_certainty_is_missing(study, tmp_path, form, codes):
    path = export(study, "judgments", tmp_path / f"a.{form}", format=form)

    done = subprocess.run(
        ["Rscript", "-e", R_SCRIPT, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )

    if done.returncode == 3:
        pytest.skip("R has no haven")
    assert done.stderr == ""
    answers = ("i1 r1 60", "i2 tie undefined", "i-3 skipped skipped")
    plain = ("i1 r2 not asked", "i2 undefined undefined")
    wanted = [
        f"{answer} {'NA' if code == '-' else code}"
        for answer, code in zip((*answers, *plain), codes, strict=True)
    ]
    assert sorted(done.stdout.splitlines()) == sorted(wanted)


def test_parquet_for_r_has_factors_labels_and_reasons(study, tmp_path):
    plain = rows(export(study, "judgments", tmp_path / "a.jsonl"))

    path = export(study, "judgments", tmp_path / "a.parquet", format="parquet-r")

    table = pyarrow.parquet.read_table(path)
    for row, there in zip(plain, table.to_pylist(), strict=True):
        assert there["choice"] == row["choice"]
        assert there["certainty"] == row["certainty"]
        assert there["excluded"] == "no"
        assert (there["choice_missing"] is None) == (row["choice"] is not None)
    choice = table.column("choice").chunk(0)
    assert choice.dictionary.to_pylist() == ["r1", "r2", "tie"]
    labels = json.loads(table.schema.metadata[b"variable_labels"])
    assert labels["certainty"] == table.schema.field("certainty").metadata[b"label"].decode()


@pytest.mark.parametrize(
    ("form", "separator", "decimal", "mark"),
    [
        ("csv-bom", ",", ".", True),
        ("csv2", ";", ",", False),
        ("csv2-bom", ";", ",", True),
        ("csv-s", ";", ".", False),
        ("csv-s-bom", ";", ".", True),
    ],
)
def test_csv_for_a_region_has_the_values_of_the_usual_one(tmp_path, form, separator, decimal, mark):
    columns = (Column("a", "text", ""), Column("share", "number", ""), Column("n", "integer", ""))
    values = [("=1;2,3\u2028", 0.25, -3), ("é", None, None), ('"', -1e-7, 2)]
    table = ExportTableFile(
        "t",
        columns,
        lambda: iter([dict(zip("a share n".split(), row, strict=True)) for row in values]),
    )

    write_table(table, {form: tmp_path / "a.csv", "csv": tmp_path / "usual.csv"})

    text = (tmp_path / "a.csv").read_text("utf-8")
    assert text.startswith("\ufeff") == mark
    with (tmp_path / "usual.csv").open(encoding="utf-8", newline="") as file:
        usual = list(csv.reader(file))
    with (tmp_path / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        found = list(csv.reader(file, delimiter=separator))
    assert [[a, share.replace(decimal, "."), n] for a, share, n in found] == usual
    assert found[1][1] == f"0{decimal}25"


def test_the_codebook_is_a_page_and_a_ddi_file_with_the_same_counts(study, tmp_path):
    described = rows(export(study, "codebook", tmp_path / "c.jsonl", format="jsonl"))
    page = export(study, "codebook", tmp_path / "c.html").read_text("utf-8")
    book = ElementTree.parse(export(study, "codebook", tmp_path / "c.xml", format="xml")).getroot()

    space = {"d": "ddi:codebook:2_5"}
    variables = {each.get("ID"): each for each in book.iterfind(".//d:var", space)}
    assert list(variables) == [f"{row['table']}.{row['variable']}" for row in described]
    for row in described:
        found = variables[f"{row['table']}.{row['variable']}"]
        codes = {
            int(each.findtext("d:catValu", "", space)): (
                each.findtext("d:labl", "", space),
                int(each.findtext("d:catStat", "", space)),
                each.get("missing") == "Y",
            )
            for each in found.iterfind("d:catgry", space)
        }
        assert codes == {
            **{each["code"]: (each["label"], each["count"], False) for each in row["values"]},
            **{each["code"]: (each["label"], each["count"], True) for each in row["missing"]},
        }
        assert row["meaning"] in (found.findtext("d:labl", "", space))
        assert sum(each["count"] for each in row["values"]) in (0, row["present"])
    certainty = next(
        row for row in described if (row["table"], row["variable"]) == ("annotations", "certainty")
    )
    assert (certainty["minimum"], certainty["maximum"], certainty["mean"]) == (7, 81, 44)
    assert [each["count"] for each in certainty["missing"]] == [0, 0, 0, 1]
    assert book.findtext(".//d:titl", "", space) == "Café ; =1+1"
    assert "Café ; =1+1" in page
    assert "-99, .a = not asked" in page


@PYREADSTAT
def test_a_text_that_spss_cannot_hold_is_refused_with_its_column(tmp_path):
    table = ExportTableFile(
        "t", (Column("note", "text", ""),), lambda: iter([{"note": "é" * 20_000}])
    )

    with pytest.raises(TooLarge, match=r"“note” .* 40,000 bytes; an SPSS text holds 32,767"):
        write_table(table, {"sav": tmp_path / "a.sav"})
    assert list(tmp_path.iterdir()) == []


@PYREADSTAT
@pytest.mark.parametrize("form", READERS)
def test_an_empty_table_opens(tmp_path, form):
    write_table(
        ExportTableFile("annotations", ANNOTATIONS, lambda: iter([])), {form: tmp_path / "a"}
    )

    found, facts = READERS[form](tmp_path / "a")

    assert list(found) == NAMES
    assert facts.number_rows in (0, None)


def test_without_the_packages_the_format_is_refused_with_the_way_out(study, tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "find_spec", lambda name: None)

    with pytest.raises(CommandError, match=r"pip install -r requirements-files\.txt"):
        call_command(
            *("export", "one", "--what", "annotations", "--format", "sav"),
            *("--out", str(tmp_path / "a.sav")),
        )
    shown = sign_in(study).post(
        "/studies/one/exports/", {"action": "new", "what": "wide", "format": "dta"}
    )
    assert shown.status_code == 422
    assert "thirdperson[files]" in shown.content.decode()


def test_the_page_offers_the_formats_and_a_bundle_has_the_chosen_one(study, tmp_path):
    page = sign_in(study).get("/studies/one/exports/").content.decode()

    out = export(study, "all", tmp_path / "all", format="csv2-bom")

    assert 'value="sav"' in page
    assert 'value="codebook"' in page
    assert (out / "csv2-bom/annotations.csv").read_bytes()[:3] == b"\xef\xbb\xbf"


def test_a_program_requests_a_format_and_gets_a_file_with_its_ending(study):
    client = program(study, "editor")

    asked = client.post("studies/one/exports", {"what": "annotations", "format": "parquet-r"})
    refused = client.post("studies/one/exports", {"what": "annotations", "format": "ods"})

    assert (asked.status_code, refused.status_code) == (202, 422)
    written = write_queued(export_id=Export.objects.get().pk)
    assert written.state == Export.State.DONE
    assert written.filename.startswith("one-annotations-")
    assert written.filename.endswith(".parquet")
    assert name_of(written) == "Annotations, Parquet for R, with factors"
