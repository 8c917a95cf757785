"""A link for blind review names nobody until its owner reveals the names."""

import hashlib
import io
import re
import zipfile

import pytest

from analysis import tasks
from analysis.lifecycle.requests import request_report
from analysis.models import Export
from annotation.services.endings import withdraw
from extras.report_readers.links.links import reveal_names, revoke_link, share_report
from extras.report_readers.models import ShareLink
from studies.models import Item, Study
from tests.extras.report_readers.test_blind import WORDS

pytestmark = pytest.mark.django_db


def test_a_blind_link_shows_names_only_after_they_are_revealed(study, client):
    report = request_report(study_id=study.pk, bootstrap=100)
    tasks.build_report(report.pk)
    user = study.memberships.get(role="owner").user
    link, key = share_report(report_id=report.pk, user=user, is_blind=True)
    address = f"/shared/{link.public_id}/"

    def shown(name: str = "") -> str:
        answer = client.get(address + name, {"key": key})
        return (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode()

    for name in ("", "report.html"):
        assert not re.search("|".join(WORDS), shown(name), re.IGNORECASE)
    assert reveal_names(link_id=link.pk, user=user)
    assert "Wendel" in shown()
    assert "qwendel" in shown("report.html")
    assert not reveal_names(link_id=link.pk, user=user)


@pytest.mark.nightly
def test_a_blind_link_gives_the_files_without_names_and_later_with_them(study, client):
    report = request_report(study_id=study.pk, bootstrap=100)
    tasks.build_report(report.pk)
    user = study.memberships.get(role="owner").user
    Study.objects.update(title="Suppers of Wendel-O’Hara")
    chosen = {"is_blind": True, "with_files": True, "licence": "CC-BY-4.0"}
    link, key = share_report(report_id=report.pk, user=user, **chosen)
    address = f"/shared/{link.public_id}/"

    def get(name: str = ""):
        return client.get(address + name, {"key": key})

    def packed() -> tuple[dict[str, bytes], str]:
        answer = get("files.zip")
        with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
            assert {each.date_time for each in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            files = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
        return files, answer["Content-Disposition"]

    assert "not available at the moment" in get().content.decode()
    assert get("files.zip").status_code == 404
    tasks.write_export(ShareLink.objects.get().bundle.pk)
    blind, blind_name = packed()
    for text in (*blind.values(), blind_name.encode(), get().content):
        for words in WORDS:
            assert not re.search(words.encode(), text, re.IGNORECASE)
    assert reveal_names(link_id=link.pk, user=user)
    named, _ = packed()

    assert "report/report.html" in named.keys() == blind.keys()
    assert any(b"Wendel" in data for data in named.values())
    assert all(named[name] == data for name, data in blind.items() if name.endswith(".jsonl"))
    lines = [line for line in named["CHECKSUMS.sha256"].splitlines(True) if b" jsonl/" in line]
    tables = hashlib.sha256(b"".join(each for each in lines if b".jsonl\n" in each)).hexdigest()
    assert tables in get().content.decode()
    assert tables == Export.objects.get().data_sha256
    # A withdrawal takes the files away until they are written again; the end of the link does too.
    Item.objects.update(
        seats_needed=9, seats_taken=9, answered=9
    )  # these answers came without the counters of items
    withdraw(annotator_id=study.annotators.exclude(assignments=None).first().pk)
    assert get("files.zip").status_code == 404
    client.force_login(user)
    client.post(
        f"/studies/{study.slug}/reports/{report.public_id}/share/",
        {"action": "files", "link": link.public_id},
    )
    again = Export.objects.latest("pk")
    tasks.write_export(again.pk)
    assert packed()[0]["jsonl/annotations.jsonl"] != named["jsonl/annotations.jsonl"]
    assert revoke_link(link_id=link.pk, user=user)
    again.refresh_from_db()
    assert again.state == Export.State.GONE
