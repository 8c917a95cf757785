"""The page that recovers the wording of a released result file."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.html import escape

from extras.replication import views
from judging.models import PromptTemplate
from studies.models import Item
from tests.extras.replication.wordings.test_released_wordings import released, study_of, written
from tests.factories import sign_in

pytestmark = pytest.mark.django_db
ADDRESS = "/studies/released/judges/wordings/recover/"


def uploaded(client, rows, *, name=""):
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    file = SimpleUploadedFile("prism_all_features_x.jsonl", content)
    return client.post(ADDRESS, {"file": file, "name": name})


@pytest.fixture
def of_file(tmp_path):
    return study_of(written(tmp_path, released()))


def test_a_result_file_is_uploaded_and_its_wording_is_shown_with_the_proof(of_file):
    client = sign_in(of_file, "editor")

    answer = uploaded(client, released(), name="theirs")

    wording = PromptTemplate.objects.get()
    assert answer.url == f"/studies/released/judges/wordings/{wording.public_id}/"
    page = client.get(answer.url).content.decode()
    assert "rebuilds all 7 prompts byte for byte from the items of this study" in page
    assert "--wording" not in page
    assert "persona, question_text, response_a, response_b" in page
    assert escape("<profile>\n{{ persona }}\n</profile>") in page
    assert (wording.name, wording.source, wording.setting) == ("theirs", "recovered", "certainty")


def test_rows_that_the_study_lacks_are_rebuilt_from_the_file_and_counted_apart(of_file):
    Item.objects.filter(study=of_file, question__endswith="0?").delete()
    client = sign_in(of_file, "editor")

    page = client.get(uploaded(client, released()).url).content.decode()

    assert "rebuilds all 7 prompts byte for byte, 6 of them from the items" in page


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (lambda: released(line_4={"prompt": released()[3]["prompt"] + "!"}), "Line"),
        (lambda: [{"text": "no prompt"}], "do not contain the texts"),
        (lambda: [], "The file is empty."),
    ],
)
def test_a_file_that_proves_no_wording_is_refused_in_words_and_stores_nothing(of_file, rows, says):
    answer = uploaded(sign_in(of_file, "editor"), rows())

    page = answer.content.decode()
    assert answer.status_code == 422
    assert says in page
    assert not PromptTemplate.objects.exists()


def test_a_study_without_items_of_the_file_and_a_file_that_is_too_large_are_refused(
    of_file, monkeypatch
):
    client = sign_in(of_file, "editor")
    monkeypatch.setattr(views, "MOST_MEGABYTES", 0)
    assert "Upload at most" in uploaded(client, released()).content.decode()
    monkeypatch.undo()
    Item.objects.filter(study=of_file).delete()

    page = uploaded(client, released()).content.decode()

    assert "Import the same file as items first." in page
    assert not PromptTemplate.objects.exists()


def test_only_editors_and_owners_find_wordings_in_files(of_file):
    viewer = sign_in(of_file, "viewer")

    assert viewer.get(ADDRESS).status_code == uploaded(viewer, released()).status_code == 404
    assert "recover/" not in viewer.get("/studies/released/judges/wordings/").content.decode()
    owner = sign_in(of_file, "owner")
    assert "recover/" in owner.get("/studies/released/judges/wordings/").content.decode()
    assert owner.get(ADDRESS).status_code == 200
