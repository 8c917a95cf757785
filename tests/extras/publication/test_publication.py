"""Giving a study away: what may leave, what is shown first, and what arrives at each archive."""

import io
import json
import random
import zipfile

import pytest
from django.core.management import CommandError, call_command

from analysis.exports import bundle as delivery_bundle
from analysis.exports.catalogue import StudyDocument
from annotation.models import Annotator
from extras.publication import connection, publish
from extras.publication.connection import (
    ArchiveConnection,
    PublicationFailed,
    PublicationRefused,
)
from extras.publication.management.commands import publish_bundle
from studies.models import Study
from tests.analysis.exports.helpers import PID, judged
from tests.extras.publication.archives import TOKEN, Hub, Osf, Zenodo

SERVICES = {"hub": Hub, "osf": Osf, "zenodo": Zenodo}


@pytest.fixture(autouse=True)
def tokens(monkeypatch):
    for name in publish.TOKENS.values():
        monkeypatch.setenv(name, TOKEN)
    monkeypatch.setattr(connection, "_TRIES", 0)


@pytest.fixture
def small_bundle(monkeypatch):
    """Files as in a bundle, one of them large enough for several parts."""

    def write_folder(study, folder, order, *, also):
        for name in ("README.md", "LICENSE", "csv/items.csv"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"{name} of {study.slug}")
        data = folder / "data/items/items.parquet"
        data.parent.mkdir(parents=True)
        data.write_bytes(random.Random(1).randbytes(9_000))

    monkeypatch.setattr(delivery_bundle, "write_folder", write_folder)


@pytest.fixture
def archive(request, httpserver):
    return SERVICES[request.param](httpserver)


@pytest.fixture
def zenodo(httpserver):
    return Zenodo(httpserver)


def give(to, server, *more, **options):
    words = ["one", "--to", to, "--server", server.url, *more]
    if to == "hub":
        words += ["--repo", "ada/answers"]
    if "--what" not in more:
        words += ["--licence", "CC-BY-4.0", "--consent-covers-sharing"]
    call_command("publish_bundle", *words, **options)


def stored(archive) -> dict[str, bytes]:
    """What an archive holds, by name; of the hub only the names."""
    if isinstance(archive, Zenodo):
        [draft] = archive.drafts.values()
        return draft["files"]
    return dict(archive.files)


every_archive = pytest.mark.parametrize("archive", SERVICES, indirect=True)


@pytest.mark.nightly
@every_archive
def test_the_bundle_arrives_as_a_private_draft(study, archive, capsys):
    judged(study)
    to = type(archive).__name__.lower()

    give(to, archive)

    names = set(stored(archive))
    if to == "hub":
        assert {"README.md", "LICENSE", "croissant.json", "data/items/items.parquet"} <= names
    else:
        shown = {"README.md", "LICENSE", "CITATION.cff", "croissant.json", "CHECKSUMS.sha256"}
        assert names == {*shown, "one-data.zip"}
        with zipfile.ZipFile(io.BytesIO(stored(archive)["one-data.zip"])) as bundle:
            assert "one-data/data/annotations/annotations.parquet" in bundle.namelist()
            text = "".join(
                bundle.read(n).decode() for n in bundle.namelist() if not n.endswith(".parquet")
            )
        assert PID not in text
        assert Annotator.objects.get().pseudonym not in text
    out = capsys.readouterr().out
    assert "A private draft, for you to check and publish there: http://" in out
    assert TOKEN not in out
    entry = study.log.get(event="published as a draft").detail
    assert (entry["to"], entry["what"], entry["server"]) == (to, "bundle", archive.url)
    assert entry["by"].endswith(", at the command line")
    assert set(entry["sha256"]) == names
    assert TOKEN not in json.dumps(list(study.log.values_list("detail", flat=True)))


@pytest.mark.sampled(keep=1)
@every_archive
@pytest.mark.usefixtures("small_bundle")
def test_a_second_call_sends_nothing_again(study, archive, capsys):
    to = type(archive).__name__.lower()
    give(to, archive)
    sent = list(archive.sent)
    capsys.readouterr()

    give(to, archive)

    assert archive.sent == sent
    assert "sent: " not in capsys.readouterr().out.replace("Nothing was sent", "")
    assert study.log.filter(event="publication begun").count() == (0 if to == "hub" else 1)
    assert len(getattr(archive, "drafts", [1])) == 1


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("archive", "place"),
    [("zenodo", "one-data.zip"), ("osf", "name=one-data.zip"), ("hub", "commit/main")],
    indirect=["archive"],
)
@pytest.mark.usefixtures("small_bundle")
def test_an_interrupted_upload_continues_where_it_stopped(study, archive, place, capsys):
    to = type(archive).__name__.lower()
    archive.fails_at = place
    with pytest.raises(CommandError, match=r"was answered with 500: busy Run the same command"):
        give(to, archive)
    before = list(archive.sent)
    assert before
    assert not study.log.filter(event="published as a draft").exists()
    archive.fails_at = ""

    give(to, archive)

    assert len(archive.sent) == len(set(archive.sent)) > len(before)
    assert study.log.filter(event="published as a draft").count() == 1


@pytest.mark.nightly
def test_changed_files_replace_what_the_draft_has(study, httpserver):
    server = Osf(httpserver)
    give("osf", server)
    first = server.files["one-data.zip"]
    judged(study)

    give("osf", server)

    assert server.files["one-data.zip"] != first
    assert server.sent.count("one-data.zip") == 2
    assert server.sent.count("LICENSE") == 1


@pytest.mark.sampled(keep=1)
@every_archive
@pytest.mark.usefixtures("small_bundle")
def test_a_dry_run_shows_what_would_leave_and_asks_nobody(study, archive, capsys, monkeypatch):
    to = type(archive).__name__.lower()
    monkeypatch.delenv(publish.TOKENS[to])

    call_command("publish_bundle", "one", "--to", to, "--server", archive.url, "--dry-run")

    out = capsys.readouterr().out
    assert archive.asked == []
    assert "README.md" in out
    assert "Licence of the answers: not stated." in out
    assert "Nothing was sent." in out
    assert "- The licence of the answers is not stated. Choose it with --licence." in out
    assert "- People answered in this study." in out
    assert f"- The environment variable {publish.TOKENS[to]} is not set." in out
    assert not study.log.exclude(event__startswith="study").filter(event__contains="publ").exists()


@pytest.mark.usefixtures("small_bundle")
def test_zenodo_gets_authors_licence_and_a_description_without_markup(study, zenodo):
    study.title = "<b>One</b> & all"
    study.save()

    give("zenodo", zenodo)

    [draft] = zenodo.drafts.values()
    found = draft["metadata"]
    assert found["title"] == "Answers and judgments of “<b>One</b> & all”"
    assert (found["license"], found["upload_type"]) == ("cc-by-4.0", "dataset")
    assert found["creators"] == [{"name": "Owners of the study “one”"}]
    assert "<p>" in found["description"]
    assert draft["submitted"] is False


@pytest.mark.usefixtures("small_bundle")
def test_a_draft_that_was_published_is_left_alone_and_a_new_one_begun(study, zenodo):
    give("zenodo", zenodo)
    zenodo.drafts["101"]["submitted"] = True

    give("zenodo", zenodo)

    assert list(zenodo.drafts) == ["101", "102"]


@pytest.mark.usefixtures("small_bundle")
def test_a_public_data_set_of_the_hub_is_not_written_to(study, httpserver):
    server = Hub(httpserver)
    server.private = False

    with pytest.raises(CommandError, match="ada/answers is public, so the files would be public"):
        give("hub", server)

    assert server.sent == []


def refused(*more):
    with pytest.raises(CommandError) as caught:
        call_command("publish_bundle", "one", *more)
    return str(caught.value)


def test_answers_stay_unless_their_licence_is_chosen_and_the_consent_covers_it(study):
    said = refused("--to", "zenodo")

    assert "Nothing was sent." in said
    assert "Choose it with --licence." in said
    assert "add --consent-covers-sharing" in said


@pytest.mark.nightly
def test_texts_that_the_source_keeps_do_not_leave(study, zenodo):
    study.source = {"redistribution": "forbidden"}
    study.save()
    words = ("--to", "zenodo", "--licence", "CC0-1.0", "--consent-covers-sharing")

    assert "forbids passing their texts on" in refused(*words)
    assert zenodo.asked == []

    give("zenodo", zenodo, "--without-texts")

    content = stored(zenodo)["one-data.zip"]
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        items = bundle.read("one-data/jsonl/items.jsonl").decode()
    assert all(set(json.loads(line)) == _WITHHELD for line in items.splitlines())


_WITHHELD = {"id", "split", "topic", "content_hash"}


def test_the_hub_needs_a_name(study):
    assert "--repo OWNER/NAME" in refused("--to", "hub", "--repo", "answers")


@pytest.fixture
def note(monkeypatch):
    """A document that an extra adds; the study has one unless its title is “Bare”."""

    def files(study):
        return {} if study.title == "Bare" else {"note.json": "{}", "note.md": f"# {study.title}"}

    added = StudyDocument(
        "note", "A note", "Note on", "What to know.", "{study} has no note.", files
    )
    for module in (publish, publish_bundle):
        monkeypatch.setattr(module, "DOCUMENTS", [added])


@pytest.mark.usefixtures("note")
@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("archive", ["zenodo", "osf"], indirect=True)
def test_a_document_of_an_extra_is_deposited_alone(study, archive):
    give(type(archive).__name__.lower(), archive, "--what", "note")

    assert stored(archive) == {"README.md": f"# {study.title}".encode(), "note.json": b"{}"}


@pytest.mark.usefixtures("note")
def test_a_document_has_to_be_there_and_needs_an_archive_with_dates(study, zenodo):
    Study.objects.update(title="Bare")

    there = ("--to", "zenodo", "--what", "note", "--server", zenodo.url)
    assert f"{study.slug} has no note." in refused(*there)
    assert "A note needs an archive" in refused("--to", "hub", "--what", "note")


def test_a_token_never_leaves_without_encryption_or_to_another_host(httpserver):
    with pytest.raises(PublicationRefused, match="begins with https"):
        ArchiveConnection("http://zenodo.example", TOKEN)
    server = ArchiveConnection("https://api.osf.io", TOKEN, domain="osf.io")
    server._check_host("https://files.osf.io/v1/")
    for foreign in ("https://evil.example/", "https://notosf.io/", "http://files.osf.io/"):
        with pytest.raises(PublicationFailed, match="not one of its own hosts"):
            server.ask("GET", foreign)


@pytest.mark.usefixtures("small_bundle")
def test_a_refusal_of_the_archive_is_passed_on_with_what_to_do(study, zenodo, monkeypatch):
    monkeypatch.setenv("ZENODO_TOKEN", "wrong")

    with pytest.raises(CommandError, match=r"401: .*who are you.* Check that the token is valid"):
        give("zenodo", zenodo)


@pytest.mark.usefixtures("small_bundle")
def test_an_archive_that_cannot_be_reached_is_named(study):
    with pytest.raises(CommandError, match=r"POST localhost/api/deposit.* was not answered"):
        call_command(
            *("publish_bundle", "one", "--to", "zenodo", "--server", "http://localhost:9"),
            *("--licence", "CC0-1.0", "--consent-covers-sharing"),
        )
