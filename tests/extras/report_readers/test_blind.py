"""A bundle for blind review names nobody, and has the same data as the named one."""

import io
import re
import struct
import zipfile
import zlib

import pytest
from django.contrib.auth.models import User

from analysis import tasks
from analysis.errors import ExportError
from analysis.exports.bundle import data_sha256
from analysis.exports.study_export import export_study
from analysis.lifecycle.requests import request_report
from annotation.services.endings import exclude
from extras.report_readers.links.blind_bundle import search
from extras.report_readers.links.identities import CODE, Blinding, Identity, identities_of
from judging.models import Judge
from studies.models import Item, Membership, Study
from studies.services.studies import record
from tests.analysis.builders import little_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(settings, tmp_path, monkeypatch) -> Study:
    settings.VAR_DIR = tmp_path / "var" / "of-lab"
    settings.PUBLIC_BASE_URL = "https://judge.quokka-lab.org"
    for task in (tasks.build_report, tasks.write_export):
        monkeypatch.setattr(task, "delay_on_commit", lambda _pk: None)
    study = little_study(1)
    user = User.objects.create_user(
        "qwendel", "wendel@uni-quokka.edu", first_name="Quentin", last_name="Wendel-O’Hara"
    )
    Membership.objects.create(study=study, user=user, role="owner")
    # Words of the code of a report.
    coder = User.objects.create_user("factory", first_name="Module", last_name="Root")
    Membership.objects.create(study=study, user=coder, role="editor")
    study.contact, study.researchers = "lab@uni-quokka.edu", "Wendel & Lab, Quokka Institute"
    study.ethics = "Board of Rottnest, 17/3"
    study.consent = "Take part. Ask our Dr Quokkason."
    study.save()
    Judge.objects.update(base_url="http://gpu7.quokka-lab.org:8000/v1")
    person = study.annotators.exclude(assignments=None).first()
    exclude(annotator_id=person.pk, reason="asked", user=user)
    record(study, "settings changed", user=user, fields=[])
    return study


WORDS = (
    "wendel|quokka|rottnest|of-lab",
    "qwendel|gpu7",
)


def test_the_blind_bundle_names_nobody_and_has_the_same_data(study, tmp_path):
    report = request_report(study_id=study.pk, bootstrap=100)
    tasks.build_report(report.pk)
    named, blind = tmp_path / "named", tmp_path / "blind"
    doubts: list[str] = []

    export_study(study, what="all", out=named, licence="CC-BY-4.0")
    export_study(study, what="blind", out=blind, licence="CC-BY-4.0", on_doubts=doubts.extend)

    assert doubts == []
    for path in blind.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        for words in WORDS:
            assert not re.search(words.encode(), data, re.IGNORECASE), path
    pages = [(each / "report" / "report.html").read_text() for each in (named, blind)]
    assert CODE.findall(pages[0]) == CODE.findall(pages[1])
    for path in (named / "jsonl").glob("*.jsonl"):
        assert path.read_bytes() == (blind / "jsonl" / path.name).read_bytes()
    assert data_sha256(named) == data_sha256(blind)


def test_a_name_in_the_data_is_refused_with_its_place(study, tmp_path):
    item = Item.objects.filter(study=study).first()
    item.question = "Would Quentin Wendel-O’Hara agree?"
    item.save()

    with pytest.raises(ExportError, match=r"Wendel-O’Hara.*jsonl/items.jsonl"):
        export_study(study, what="blind", out=tmp_path / "blind")

    assert not (tmp_path / "blind").exists()


def test_words_are_found_inside_what_is_packed():
    blinding = Blinding([Identity("Q. Wendel", "name", True)])
    said = b"made by Q. Wendel"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("docProps/core.xml", b"<creator>Q.  Wendel</creator>")
    text = b"Author\0\0" + zlib.compress(said)
    chunk = struct.pack(">I", len(text)) + b"zTXt" + text + b"\0\0\0\0"
    files = {
        "book.xlsx": packed.getvalue(),
        "plot.png": b"\x89PNG\r\n\x1a\n" + chunk,
        "plot.pdf": b"%PDF-1.7\nstream\n" + zlib.compress(said) + b"\nendstream",
        "plot.svg": b"<dc:creator>Q. Wendel</dc:creator>",
        "photo.jpg": b"\xff\xd8\xff\xe1Exif\x01" + "Q. Wendel".encode("utf-16-le"),
        "of Q. Wendel.txt": b"",
    }

    for name, data in files.items():
        assert search(name, data, blinding).total() == 1, name


def test_public_addresses_identify_nobody(study):
    Study.objects.update(contact="x@gmail.com", researchers="", ethics="")
    Judge.objects.update(base_url="https://api.openai.com/v1")
    study.refresh_from_db()

    words = {one.word for one in identities_of(study)}

    assert "gmail.com" not in words
    assert "api.openai.com" not in words
    assert "x@gmail.com" in words
