"""The pages that map the columns of an uploaded file, and the command with a mapping."""

import csv
import json
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.utils import timezone

from studies.importers.columns.mapping import ColumnMapping
from studies.importers.uploads import folder_of_upload, mapping_of, run_import
from studies.models import ImportJob, Item, Membership, Study, Upload
from studies.tasks import tidy_imports
from tests.factories import make_study
from tests.stored import path_of
from tests.studies.files import jsonl, raw_item
from tests.studies.hostile import HOSTILE

pytestmark = pytest.mark.django_db
IMPORT = "/studies/one/import/"
CSV = """Nr,Age group,Survey question,Option A,Option B,gold,Notes
1,35-44,Pool?,Yes,No,A,x
2,35-44,Sunday?,Yes,No,second,y
3,65+,Present?,Voucher,Book,Book,
4,18-24,Holiday?,Hut,City,unsure,<b>z</b>
"""
FIELDS = {"Age group": "feature", "Survey question": "question", "Option A": "response_1"}
FIELDS |= {"Option B": "response_2", "gold": "own_answer"}
MAPPING = ColumnMapping(FIELDS).as_json()


@pytest.fixture
def study(client, settings, tmp_path) -> Study:
    settings.VAR_DIR = tmp_path
    study = make_study(slug="one", title="Everyday choices")
    editor = User.objects.create_user("editor")
    Membership.objects.create(study=study, user=editor, role="editor")
    client.force_login(editor)
    return study


def send(client, data=CSV, name="people.csv", **fields):
    file = SimpleUploadedFile(name, data.encode() if isinstance(data, str) else data)
    return client.post(IMPORT, {"file": file, "task": "preference"} | fields)


def upload_of(client, data=CSV, **options) -> tuple[Upload, str]:
    response = send(client, data, **options)
    upload = Upload.objects.latest("pk")
    assert response["Location"] == f"{IMPORT}columns/{upload.public_id}/"
    return upload, response["Location"]


def sent(upload: Upload, **fields) -> dict[str, str]:
    """The form of the page as it is shown, with changes."""
    columns = upload.mapping["columns"]
    return {f"field-{n}": entry["field"] for n, entry in enumerate(columns)} | fields


def fields_of(upload: Upload) -> dict[str, str]:
    return dict(mapping_of(upload).fields)


@pytest.mark.nightly
def test_a_file_with_other_columns_is_mapped_and_imported(client, study):
    upload, address = upload_of(client)

    page = client.get(address).text

    assert "We guessed from the names" in page
    assert "“unsure”" in page
    assert "In 1 of the first 4 rows we cannot read the own answer" in page
    response = client.post(address, sent(upload, **{"import": ""}), follow=True)
    said = response.text
    assert "Imported 4 items and 3 personas" in said
    assert "Own answers: 3 of 4 items" in said
    assert "Columns not imported: Nr, Notes." in said
    assert "own answers that could not be read (“unsure” 1) 1." in said
    found = {item.question: item for item in Item.objects.all()}
    assert [found[q].first_person for q in ("Pool?", "Sunday?", "Present?", "Holiday?")] == [
        "r1",
        "r2",
        "r2",
        "",
    ]
    assert found["Pool?"].persona.features[0]["label"] == "Age group"
    assert not path_of(folder_of_upload(upload)).exists()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("items.jsonl", jsonl(raw_item(1))),
        ("items.csv", b"id,persona_id,persona_text,question,response_1,response_2\na,p,C,W?,G,S\n"),
        (
            "own.csv",
            b"id,persona_id,persona_text,question,response_1,response_2,gold\na,p,C,W,G,S,1\n",
        ),
    ],
)
def test_files_in_the_item_format_go_straight_through(client, study, name, data):
    response = send(client, data, name=name)

    assert response["Location"] == "/studies/one/"
    assert Item.objects.count() == 1


def test_a_file_is_mapped_if_own_answers_would_be_lost_or_on_request(client, study):
    header = "id,persona_id,persona_text,question,response_1,response_2,preferred\n"
    upload, _ = upload_of(client, f"{header}a,p,C,W?,G,S,A\n")

    assert fields_of(upload)["preferred"] == "own_answer"
    again, _ = upload_of(client, f"{header}a,p,C,W?,G,S,1\n", columns="")
    assert fields_of(again)["id"] == "id"


def test_the_meaning_of_a_value_and_the_name_of_a_feature_are_asked(client, study):
    upload, address = upload_of(client)
    data = sent(upload, **{"value-0": "unsure", "answer-0": "tie", "label-1": "Age in years"})

    assert client.post(address, data | {"update": ""})["Location"] == f"{address}#result"

    page = client.get(address).text
    assert "4 read, 0 not read" in page
    assert 'value="Age in years"' in page
    client.post(address, data | {"import": ""})
    assert Item.objects.get(question="Holiday?").first_person == "tie"
    assert Item.objects.first().persona.features[0]["label"] == "Age in years"


def test_a_missing_field_is_named_and_nothing_is_imported(client, study):
    upload, address = upload_of(client)
    column = list(fields_of(upload)).index("Option B")

    response = client.post(address, sent(upload, **{f"field-{column}": "", "import": ""}))

    assert response.status_code == 422
    assert "<title>Error:" in response.text
    problem = "Choose the columns of response 1 and response 2."
    assert f'<a href="#field-0">{problem}</a>' in response.text
    assert not Item.objects.exists()


def test_without_an_own_answer_the_page_warns(client, study):
    upload, address = upload_of(client)
    column = list(fields_of(upload)).index("gold")
    client.post(address, sent(upload, **{f"field-{column}": "", "update": ""}))

    assert "No item will have an own answer." in client.get(address).text


def test_checking_shows_the_report_and_stores_nothing(client, study):
    upload, address = upload_of(client)

    page = client.post(address, sent(upload, check="")).text

    assert "Would import 4 items" in page
    assert "<dt>Columns not imported</dt><dd>Nr, Notes</dd>" in page
    assert not Item.objects.exists()


def test_faults_are_grouped_by_rule_with_their_lines(client, study):
    upload, address = upload_of(client, CSV + "5,20,Empty?,,No,A,\n6,20,Same?,No,No,A,\n")

    assert "Rows with errors among the first 6" in client.get(address).text
    response = client.post(address, sent(upload, **{"import": ""}))

    assert response.status_code == 422
    assert "The file has 2 errors. Nothing was imported" in " ".join(response.text.split())
    assert re.search(r"Line 6, item “item-\w+”: response r1 is empty\.", response.text)
    assert "Download all errors as CSV" in response.text
    assert path_of(folder_of_upload(upload)).exists()


@pytest.mark.parametrize("name", ["items.xlsx", "items.xls", "Items.ODS"])
def test_a_workbook_is_refused_with_what_to_do(client, study, name):
    response = send(client, b"PK\x03\x04 something", name=name)

    assert response.status_code == 422
    assert "or its sheet as ‘CSV UTF-8’." in response.text


def test_the_next_file_with_these_columns_gets_the_same_mapping(client, study):
    upload, address = upload_of(client)
    data = sent(upload, **{"value-0": "unsure", "answer-0": "none"})
    client.post(address, data | {"import": ""})
    header, _, rest = CSV.partition("\n")
    swapped = "\n".join([header, rest.replace("Holiday?", "Travel?")])

    later, address = upload_of(client, swapped)

    assert later.mapping["answers"] == {"unsure": ""}
    assert "We filled in your choices for the last file" in client.get(address).text
    other, _ = upload_of(client, "prompt,chosen,rejected,age\nQ?,a,b,3\n")
    assert "answers" not in other.mapping


def test_a_worker_imports_a_large_file(client, study, monkeypatch):
    monkeypatch.setattr("studies.importers.uploads.INLINE_BYTES", 10)
    upload, address = upload_of(client)

    response = client.post(address, sent(upload, **{"import": ""}))

    job = ImportJob.objects.get()
    assert response["Location"] == f"{IMPORT}{job.public_id}/"
    run_import(job_id=job.pk)
    page = client.get(response["Location"]).text
    assert "Imported 4 items" in page
    assert "<dt>Columns not imported</dt><dd>Nr, Notes</dd>" in page
    assert path_of(folder_of_upload(upload)).exists()


def test_a_worker_that_finds_faults_leads_back_to_the_columns(client, study, monkeypatch):
    monkeypatch.setattr("studies.importers.uploads.INLINE_BYTES", 10)
    upload, address = upload_of(client, CSV + "5,20,Empty?,,No,A,\n")
    response = client.post(address, sent(upload, **{"import": ""}))
    run_import(job_id=ImportJob.objects.get().pk)

    page = client.get(response["Location"]).text

    assert "The file has 1 error." in page
    assert f'href="{address}"' in page
    assert client.get(address).status_code == 200


@pytest.mark.nightly
def test_items_are_replaced_by_a_mapped_file(client, study):
    send(client, jsonl(raw_item(1)), name="items.jsonl")
    upload, address = upload_of(client, replace="on", seen="1")

    assert "all 1 items of this study" in client.get(address).text
    client.post(address, sent(upload, **{"import": ""}))

    assert Item.objects.count() == 4
    assert not Item.objects.filter(key="x1").exists()


@pytest.mark.nightly
def test_the_preview_is_the_page_of_annotators_and_only_this_site_frames_it(client, study):
    _, address = upload_of(client)

    response = client.get(f"{address}item/1/")

    assert "Which response would this person prefer?" in response.text
    assert "Pool?" in response.text
    assert "frame-ancestors 'self'" in response["Content-Security-Policy"]
    assert "frame-src 'self'" in client.get(address)["Content-Security-Policy"]
    assert client.get(f"{address}item/4/").status_code == 404
    assert client.post(f"{address}item/1/").status_code == 302
    assert not Item.objects.exists()


def test_files_that_nobody_imports_are_deleted_after_a_day_and_used_mappings_stay(client, study):
    left, address = upload_of(client)
    used, used_address = upload_of(client)
    client.post(used_address, sent(used, **{"import": ""}))
    tidy_imports()
    assert path_of(folder_of_upload(left)).exists()
    Upload.objects.update(created_at=timezone.now() - timedelta(days=2))

    tidy_imports()

    assert not path_of(folder_of_upload(left)).exists()
    assert list(Upload.objects.all()) == [used]
    assert client.get(address).status_code == 404
    gone = client.get(used_address, follow=True)
    assert "This file has been deleted" in gone.text


def test_several_files_need_the_same_columns(client, study):
    files = [SimpleUploadedFile(f"{n}.csv", CSV.encode()) for n in (1, 2)]
    response = client.post(IMPORT, {"file": files, "task": "preference"})
    assert response["Location"].startswith(f"{IMPORT}columns/")

    files = [SimpleUploadedFile("1.csv", CSV.encode())]
    files += [SimpleUploadedFile("3.csv", b"prompt,chosen\nQ?,a\n")]
    response = client.post(IMPORT, {"file": files, "task": "preference"})

    assert response.status_code == 422
    assert "3.csv has other columns than 1.csv" in response.text


def test_hostile_names_and_cells_are_shown_as_text(client, study):
    texts = [*HOSTILE, "<script>alert(1)</script>", "{{ study.seed }}", "__proto__", "a" * 5_000]
    row = {text.replace("\x00", "") + str(n): text for n, text in enumerate(texts)}
    row |= {"Option A": "<img src=x onerror=1>", "Option B": "b", "age": "\u202eold", "prompt": "?"}

    upload, address = upload_of(client, jsonl(row), name="<b>.jsonl")

    page = client.get(address)
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert "<img src=x" not in page.text
    assert "<b>.jsonl" not in page.text
    assert client.post(address, sent(upload, update="")).status_code == 302
    assert "<img src=x" not in client.get(f"{address}item/1/").text


def test_a_page_shows_a_limited_number_of_columns_the_guessed_ones_among_them(client, study):
    row = {f"c{n}": "x" for n in range(400)} | {"Option A": "a", "Option B": "b"}
    _, address = upload_of(client, jsonl(row), name="wide.jsonl")

    page = client.get(address).text

    assert page.count('<select id="field-') == 150
    assert "252 more columns, which are not imported" in page
    assert "Option A" in page


def test_the_pages_make_few_queries(client, study, django_assert_max_num_queries):
    _, address = upload_of(client)

    with django_assert_max_num_queries(12):
        client.get(address)
    with django_assert_max_num_queries(11):  # two of them once in a process
        client.get(f"{address}item/1/")


def test_features_keep_the_order_of_the_file(client, study, monkeypatch):
    """PostgreSQL orders the keys of objects by their length."""
    monkeypatch.setattr("studies.importers.uploads.INLINE_BYTES", 10)
    header = "prompt,option_a,option_b,hobby of the person,age,job\n"
    upload, address = upload_of(client, f"{header}Q?,Yes,No,chess,30,Nurse\n")

    client.post(address, sent(upload, **{"field-3": "feature", "import": ""}))
    run_import(job_id=ImportJob.objects.get().pk)

    labels = [feature["label"] for feature in Item.objects.get().persona.features]
    assert labels == ["Hobby of the person", "Age", "Job"]


class TestCommand:
    def test_it_takes_the_downloaded_mapping_or_its_text(self, client, study, tmp_path, capsys):
        _, address = upload_of(client)
        mapping, file = tmp_path / "mapping.json", tmp_path / "people.csv"
        mapping.write_bytes(client.get(f"{address}mapping.json").content)
        file.write_text(CSV)

        call_command("import_items", "one", file, "--mapping", str(mapping))
        call_command("import_items", "one", file, "--mapping", mapping.read_text())

        said = capsys.readouterr().out
        assert "Imported 4 items" in said
        assert "Columns not imported: Nr, Notes" in said
        assert "4 were there already" in said

    def test_it_refuses_a_faulty_one(self, study, tmp_path):
        file = tmp_path / "people.csv"
        file.write_text(CSV)

        with pytest.raises(CommandError, match="cannot be read"):
            call_command("import_items", "one", file, "--mapping", "nowhere.json")
        with pytest.raises(CommandError, match="Choose the columns of response 1"):
            call_command(
                "import_items", "one", file, "--mapping", '{"format": "thirdperson-mapping"}'
            )


@pytest.mark.nightly
def test_faulty_rows_can_be_left_out_on_both_pages(client, study):
    upload, address = upload_of(client, CSV + "5,20,Empty?,,No,A,\n")

    client.post(address, sent(upload, **{"import": "", "skip_faulty": "on"}), follow=True)

    assert Item.objects.count() == 4

    assert 'name="skip_faulty"' in client.get(IMPORT).text
    data = jsonl(raw_item(1), raw_item(2, question=None))
    page = send(client, data, "items.jsonl", skip_faulty="on", **{"import": ""})
    text = client.get(page["Location"]).text
    assert "Faulty rows left out: 1. Line 2, item “x2”: question is missing." in text
    assert Item.objects.count() == 5


@pytest.mark.nightly
def test_the_columns_of_a_large_table_of_pandas_are_mapped(client, study):
    header, *rows = csv.reader(CSV.splitlines())
    rows[0][2] = "Pool?" * 200_000
    columns = {
        name: {str(n): row[k] for n, row in enumerate(rows)} for k, name in enumerate(header)
    }

    upload, _ = upload_of(client, json.dumps(columns), name="people.json")

    assert fields_of(upload)["Option A"] == "response_1"


def test_the_encoding_of_a_file_is_said_and_can_be_changed(client, study):
    text = CSV.replace("Notes", "Заметки").replace("Pool?", "Бассейн?")
    upload, address = upload_of(client, text.encode("cp1251"))

    page = client.get(address).text
    assert "We read it as Windows-1252" in page
    assert "Áàññåéí?" in page

    response = client.post(address, sent(upload, encoding="cp1251"))
    upload.refresh_from_db()
    assert response["Location"].startswith(address)
    assert "Заметки" in fields_of(upload)
    page = client.get(address).text
    assert "Бассейн?" in page
    assert "We read it as Windows-1252" not in page
    client.post(address, sent(upload, encoding="cp1251"))
    assert Item.objects.filter(question="Бассейн?").exists()


def test_a_file_as_spreadsheets_save_it_has_its_columns(client, study):
    upload, address = upload_of(client, CSV.replace("Pool?", "Früh – “so”?").encode("cp1252"))

    assert fields_of(upload)["Option A"] == "response_1"
    assert "Früh – “so”?" in client.get(address).text
