"""Files in the database: drafts, races, and what a killed process leaves."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.utils import timezone

from studies.file_storage import database
from studies.file_storage.drafts import remove_drafts
from studies.file_storage.stored import Stored
from studies.models import StoredBlock, StoredFile


@pytest.fixture(autouse=True)
def in_the_database(use):
    use("database")


@pytest.mark.django_db
def test_a_block_is_at_most_half_a_megabyte():
    Stored("exports/one/data.zip").save(b"x" * (2 * database.BLOCK_BYTES + 1))

    sizes = [len(block.data) for block in StoredBlock.objects.order_by("number")]
    assert sizes == [524_288, 524_288, 1]
    assert StoredFile.objects.get().size == 1_048_577


@pytest.mark.django_db
def test_a_process_that_dies_leaves_no_file_and_its_blocks_are_deleted_after_a_day(monkeypatch):
    def die(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(database.DatabaseStorage, "_name", die)
    with pytest.raises(KeyboardInterrupt):
        Stored("exports/one/data.zip").save(b"x")
    assert not Stored("exports/one/data.zip").is_file()
    assert StoredBlock.objects.count() == 1

    remove_drafts("exports")
    assert StoredBlock.objects.count() == 1
    StoredFile.objects.update(created_at=timezone.now() - dt.timedelta(days=1, minutes=1))
    remove_drafts("exports")

    assert (StoredFile.objects.count(), StoredBlock.objects.count()) == (0, 0)


@pytest.mark.django_db
def test_a_file_that_is_deleted_while_it_is_read_ends_with_an_error():
    Stored("exports/one/data.zip").save(b"x" * (2 * database.BLOCK_BYTES))

    with Stored("exports/one/data.zip").open() as file:
        file.read(10)
        Stored("exports/one").delete()
        with pytest.raises(OSError, match="was deleted while it was read"):
            file.read()


@pytest.mark.django_db
def test_a_report_of_many_files_takes_few_statements(django_assert_max_num_queries):
    with django_assert_max_num_queries(25), Stored("reports/two").replacing() as draft:
        for number in range(200):
            (draft / f"{number}.csv").write_text("a,b\n")

    assert len(Stored("reports/two").files()) == 200


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_processes_that_store_the_same_file_leave_it_once():
    def store(number: int) -> None:
        try:
            Stored("reports/one/shared.html").save(str(number).encode() * 1000)
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(store, range(8)))

    (stored,) = StoredFile.objects.all()
    assert (stored.kind, stored.owner, stored.path) == ("reports", "one", "shared.html")
    assert len(set(Stored("reports/one/shared.html").read_bytes())) == 1
    assert StoredBlock.objects.count() == 1
