"""A bucket: what is sent to the server, and what happens if it refuses."""

from io import StringIO

import pytest
from django.core.files.storage import storages
from django.core.management import CommandError, call_command, get_commands

from studies.file_storage.storage import StorageUnreachable, Stored

pytestmark = pytest.mark.django_db


@pytest.mark.nightly
def test_files_are_below_the_prefix(use, s3):
    use("s3://research/thirdperson/files")

    Stored("reports/one/report.html").save(b"<p>")

    assert s3.objects == {"research/thirdperson/files/reports/one/report.html": b"<p>"}
    assert str(Stored("reports/one")) == "s3://research/thirdperson/files/reports/one"


def test_files_are_private_and_encrypted_if_asked_for(use, s3, settings):
    use("s3://research")
    settings.FILES["OPTIONS"]["encryption"] = "aws:kms"
    settings.STORAGES = {**settings.STORAGES, "files": settings.FILES}

    Stored("reports/one/report.html").save(b"<p>")

    headers = {name.lower(): value for name, value in s3.headers.popitem()[1].items()}
    assert headers["x-amz-server-side-encryption"] == "aws:kms"
    assert "x-amz-acl" not in headers


def test_half_of_one_file_is_never_joined_to_half_of_the_next(use, s3):
    use("s3://research")
    Stored("exports/one/data.zip").save(b"a" * 300_000)

    with Stored("exports/one/data.zip").open() as file:
        start = file.read(10)
        Stored("exports/one/data.zip").save(b"b" * 300_000)
        assert start + file.read() == b"a" * 300_000


def test_a_refusal_names_the_file_and_the_reason(use, s3):
    use("s3://research")
    s3.refuses = True

    with pytest.raises(OSError, match=r"s3://research/.*report\.html cannot be written.*Access"):
        Stored("reports/one/report.html").save(b"<p>")

    assert s3.objects == {}


def test_many_files_are_deleted_by_one_request(use, s3):
    use("s3://research")
    for number in range(3):
        Stored(f"reports/one/{number}.csv").save(b"x")
    Stored("reports/two/0.csv").save(b"x")

    storages["files"].delete_folder("reports/one")

    assert list(s3.objects) == ["research/reports/two/0.csv"]


@pytest.fixture
def away(use, s3, monkeypatch, admin_client):
    """A bucket whose server does not answer, and a client that shows error pages."""
    use("s3://research")
    s3.stop()
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr("config.health._located", None)
    admin_client.raise_request_exception = False
    return admin_client


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    "use_it",
    [
        lambda storage: storage.files("reports/one"),
        lambda storage: storage.owners("reports"),
        lambda storage: storage.usage("reports"),
        lambda storage: storage.exists("reports/one/report.html"),
        lambda storage: storage.open("reports/one/report.html"),
        lambda storage: storage.delete("reports/one/report.html"),
        lambda storage: storage.delete_folder("reports/one"),
    ],
)
@pytest.mark.usefixtures("away")
def test_every_outage_of_the_server_is_reported_alike(use_it):
    with pytest.raises(StorageUnreachable):
        use_it(storages["files"])


@pytest.mark.nightly
def test_commands_and_pages_say_that_the_bucket_is_away(away):
    for command in {"files", "doctor"} & get_commands().keys():
        with pytest.raises(CommandError):
            call_command(command, stdout=StringIO())

    health = away.get("/healthz")

    assert (health.status_code, health.json()["storage"]) == (503, "unreachable")
