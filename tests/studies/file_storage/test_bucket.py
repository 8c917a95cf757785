"""A bucket: what is sent to the server, and what happens if it refuses."""

import pytest
from django.core.files.storage import storages

from studies.file_storage import bucket
from studies.file_storage.stored import Stored

pytestmark = pytest.mark.django_db


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


def test_a_part_of_a_file_is_fetched_alone(use, s3, monkeypatch):
    monkeypatch.setattr(bucket, "BLOCK_BYTES", 100)
    use("s3://research")
    Stored("exports/one/data.zip").save(bytes(range(256)) * 4)
    s3.requests.clear()

    with Stored("exports/one/data.zip").open() as file:
        file.seek(950)
        assert file.read(10) == bytes(range(182, 192))

    assert [part for method, part in s3.requests if method == "GET"] == ["bytes=900-999"]


def test_half_of_one_file_is_never_joined_to_half_of_the_next(use, s3, monkeypatch):
    monkeypatch.setattr(bucket, "BLOCK_BYTES", 100_000)
    use("s3://research")
    Stored("exports/one/data.zip").save(b"a" * 300_000)

    with Stored("exports/one/data.zip").open() as file:
        file.read(10)
        Stored("exports/one/data.zip").save(b"b" * 300_000)
        with pytest.raises(bucket.StorageUnreachable, match=r"data\.zip cannot be read"):
            file.read()


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
