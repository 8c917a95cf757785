"""The environment: every value is checked, and a bad one stops the start with its name."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env as module
from config.env import (
    Env,
    address,
    database,
    env,
    files,
    flag,
    folder,
    mail_server,
    one_of,
    read_dotenv,
    secret_key,
    sqlite,
    whole_number,
)


@pytest.mark.parametrize(
    ("cast", "value", "sentence"),
    [
        (flag, "perhaps", "must be 1 or 0, not “perhaps”."),
        (whole_number(1, 65535), "0", "must be a whole number from 1 to 65535, not “0”."),
        (whole_number(1, 65535), "70000", "must be a whole number from 1 to 65535, not “70000”."),
        (whole_number(1, 65535), "many", "must be a whole number from 1 to 65535, not “many”."),
        (one_of("INFO", "ERROR"), "loud", "must be INFO or ERROR, not “loud”."),
        (
            address("http", "https"),
            "example.org",
            "must be a URL that starts with http://, https://.",
        ),
        (files, "ftp", "must be folder or s3://bucket/prefix, not “ftp”."),
        (
            files,
            "s3://key:secret@bucket",
            "must be folder or s3://bucket/prefix, without keys and options, which have "
            "their own variables.",
        ),
        (address("redis"), "rediss:u:secret", "must be a URL that starts with redis://."),
        (
            database,
            "postgres:/thirdperson",
            "must be postgresql://user:password@host/name or sqlite:///path.",
        ),
    ],
)
def test_a_bad_value_is_refused_by_name(monkeypatch, cast, value, sentence):
    monkeypatch.setenv("TP_ONE", value)

    with pytest.raises(ImproperlyConfigured) as caught:
        env("TP_ONE", cast=cast, default=None)

    assert str(caught.value) == f"TP_ONE {sentence}"


@pytest.mark.parametrize(
    ("cast", "value", "expected"),
    [
        (flag, "YES", True),
        (flag, "off", False),
        (whole_number(0, 9), " 7 ", 7),
        (one_of("INFO", "ERROR"), "error", "ERROR"),
        (address("http"), "http://localhost:8000", "http://localhost:8000"),
        (flag, "", "the default"),
    ],
)
def test_a_good_value_is_read_and_an_empty_one_counts_as_unset(monkeypatch, cast, value, expected):
    monkeypatch.setenv("TP_ONE", value)

    assert env("TP_ONE", cast=cast, default="the default") == expected


def test_a_list_is_separated_by_commas_and_blanks_do_not_count(monkeypatch):
    monkeypatch.setenv("TP_ONE", "one.example, two.example,")

    assert env.list("TP_ONE", cast=str.strip, default=[]) == ["one.example", "two.example"]


def test_a_secret_may_begin_with_a_dollar_sign(monkeypatch):
    monkeypatch.setenv("TP_ONE", "$PATH")

    assert env.str("TP_ONE", default="") == "$PATH"


def test_a_folder_that_cannot_be_created_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TP_ONE", str(tmp_path / "file" / "var"))

    with pytest.raises(
        ImproperlyConfigured, match=r"TP_ONE is .*, a folder that cannot be created"
    ):
        env("TP_ONE", cast=folder, default=tmp_path, parse_default=True)


def test_the_default_folder_is_created_too(tmp_path):
    path = env("TP_NONE", cast=folder, default=tmp_path / "var", parse_default=True)

    assert path == tmp_path / "var"
    assert path.is_dir()


@pytest.fixture
def dotenv(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(module, "DOTENV", tmp_path / ".env")
    return tmp_path / ".env"


def test_dotenv_fills_in_and_never_overrides(dotenv, monkeypatch):
    monkeypatch.setattr(Env, "ENVIRON", {"TP_ONE": "from outside"})
    dotenv.write_text(
        "# a comment\n\nTP_ONE=from file\nTP_TWO='quoted'\n TP_THREE = a#b=$c\nexport TP_FOUR=4\n",
        encoding="utf-8",
    )

    read_dotenv()

    assert {
        "TP_ONE": "from outside",
        "TP_TWO": "quoted",
        "TP_THREE": "a#b=$c",
        "TP_FOUR": "4",
    } == Env.ENVIRON


def test_a_missing_dotenv_is_allowed(dotenv, monkeypatch):
    monkeypatch.setattr(Env, "ENVIRON", {})

    read_dotenv()

    assert Env.ENVIRON == {}


def test_an_invalid_line_is_refused_with_its_number(dotenv):
    dotenv.write_text("TP_ONE=1\nnonsense\n", encoding="utf-8")

    with pytest.raises(ImproperlyConfigured, match=r"\.env, line 2: expected KEY=value\."):
        read_dotenv()


def test_a_database_url_gives_its_parts():
    found = database("postgresql://us%40er:p%2Fw@db.example:5433/tp?sslmode=require")

    assert found["ENGINE"] == "django.db.backends.postgresql"
    assert (found["USER"], found["PASSWORD"]) == ("us@er", "p/w")
    assert (found["HOST"], found["PORT"], found["NAME"]) == ("db.example", 5433, "tp")
    assert found["OPTIONS"] == {"sslmode": "require", "connect_timeout": 5}
    assert found["CONN_HEALTH_CHECKS"] is True


@pytest.mark.parametrize(
    "url", ["postgres://%2Frun%2Fpostgresql/tp", "postgresql:///tp?host=/run/postgresql"]
)
def test_a_database_may_be_reached_by_its_socket(url):
    found = database(url)

    assert (found["HOST"], found["NAME"]) == ("/run/postgresql", "tp")
    assert "host" not in found["OPTIONS"]


def test_sqlite_takes_write_locks_early():
    found = database("sqlite:///srv/a%20folder/tp.sqlite3")

    assert found == sqlite(Path("/srv/a folder/tp.sqlite3"))
    assert found["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


@pytest.mark.parametrize("url", ["mysql://localhost/tp", "postgresql://localhost:many/tp", "tp"])
def test_another_database_is_refused(monkeypatch, url):
    monkeypatch.setenv("DATABASE_URL", url)

    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL must be postgresql://"):
        env("DATABASE_URL", cast=database, default=None)


def test_the_embedded_key_is_made_once_and_readable_by_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    path = tmp_path / "var" / "secret_key"

    first = secret_key(embedded=True, path=path)
    second = secret_key(embedded=True, path=path)

    assert first == second
    assert len(first) >= 50
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["secret_key"]


def test_only_a_new_secret_needs_disk_space(tmp_path, monkeypatch):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    path = tmp_path / "secret_key"
    first = secret_key(embedded=True, path=path)

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)

    assert secret_key(embedded=True, path=path) == first
    path.unlink()
    with pytest.raises(ImproperlyConfigured, match="No space left on device"):
        secret_key(embedded=True, path=path)
    assert list(tmp_path.iterdir()) == []


def test_a_server_without_a_key_does_not_start(tmp_path, monkeypatch):
    monkeypatch.delenv("SECRET_KEY", raising=False)

    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is not set"):
        secret_key(embedded=False, path=tmp_path / "secret_key")


@pytest.mark.parametrize(
    ("value", "host", "port", "user", "password", "encryption"),
    [
        ("smtp://localhost", "localhost", 25, "", "", None),
        (
            "smtp+tls://ada:p%40ss@mail.example.org",
            "mail.example.org",
            587,
            "ada",
            "p@ss",
            "EMAIL_USE_TLS",
        ),
        ("smtps://mail.example.org", "mail.example.org", 465, "", "", "EMAIL_USE_SSL"),
        ("smtps://mail.example.org:4650", "mail.example.org", 4650, "", "", "EMAIL_USE_SSL"),
    ],
)
def test_a_mail_server_is_read_from_its_address(value, host, port, user, password, encryption):
    assert mail_server(value) == {
        "EMAIL_HOST": host,
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": user,
        "EMAIL_HOST_PASSWORD": password,
        "EMAIL_USE_TLS": encryption == "EMAIL_USE_TLS",
        "EMAIL_USE_SSL": encryption == "EMAIL_USE_SSL",
    }


@pytest.mark.parametrize(
    "value", ["mail.example.org", "http://mail.example.org", "smtp://h:port", "consolemail://"]
)
def test_a_mail_server_that_cannot_be_read_is_named(monkeypatch, value):
    monkeypatch.setenv("EMAIL_URL", value)

    with pytest.raises(ImproperlyConfigured, match=r"EMAIL_URL must be smtp\+tls://"):
        env("EMAIL_URL", cast=mail_server, default={})


def test_a_bucket_names_the_packages_that_it_needs(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)

    with pytest.raises(ValueError, match=r"pip install -r requirements-s3\.txt"):
        files("s3://bucket")


def test_files_in_the_database_are_refused_with_instructions(monkeypatch):
    monkeypatch.setenv("FILES", "database")

    with pytest.raises(ImproperlyConfigured, match=r"FILES must be .*--copy-from database"):
        env("FILES", cast=files, default="folder")
