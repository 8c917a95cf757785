from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env


def test_a_flag_that_is_no_flag_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("DEBUG", "perhaps")

    with pytest.raises(ImproperlyConfigured, match=r"DEBUG must be 1 or 0, not “perhaps”\."):
        env.flag("DEBUG", False)


@pytest.mark.parametrize("value", ["0", "70000", "many"])
def test_a_number_out_of_range_is_refused(monkeypatch, value):
    monkeypatch.setenv("PORT", value)

    with pytest.raises(ImproperlyConfigured, match="PORT must be"):
        env.integer("PORT", 8000, low=1, high=65535)


def test_an_url_without_its_scheme_is_refused(monkeypatch):
    monkeypatch.setenv("PUBLIC_BASE_URL", "example.org")

    with pytest.raises(ImproperlyConfigured, match="PUBLIC_BASE_URL must be an URL"):
        env.url("PUBLIC_BASE_URL")


def test_a_word_that_is_none_of_those_known_is_refused(monkeypatch):
    monkeypatch.setenv("LOG_LEVEL", "loud")

    with pytest.raises(ImproperlyConfigured, match="LOG_LEVEL must be INFO or ERROR, not “LOUD”"):
        env.choice("LOG_LEVEL", "INFO", among=("INFO", "ERROR"))


def test_a_folder_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("VAR_DIR", str(tmp_path / "file" / "var"))

    with pytest.raises(ImproperlyConfigured, match=r"VAR_DIR: the folder .* cannot be made"):
        env.folder("VAR_DIR", tmp_path)


def test_dotenv_fills_in_and_never_overrides(tmp_path, monkeypatch):
    file = tmp_path / ".env"
    file.write_text("# a comment\n\nTP_ONE=from file\nTP_TWO='quoted'\n", encoding="utf-8")
    monkeypatch.setenv("TP_ONE", "from outside")
    monkeypatch.delenv("TP_TWO", raising=False)

    env.load_dotenv(file)

    assert (env.text("TP_ONE"), env.text("TP_TWO")) == ("from outside", "quoted")
    monkeypatch.delenv("TP_TWO")


def test_a_line_that_is_no_assignment_is_refused_with_its_number(tmp_path):
    file = tmp_path / ".env"
    file.write_text("TP_ONE=1\nnonsense\n", encoding="utf-8")

    with pytest.raises(ImproperlyConfigured, match=r"line 2: expected KEY=value\."):
        env.load_dotenv(file)


def test_a_database_url_gives_its_parts(monkeypatch):
    monkeypatch.setenv(
        "DATABASE_URL", "postgresql://us%40er:p%2Fw@db.example:5433/tp?sslmode=require"
    )

    database = env.database("DATABASE_URL", default_path=Path("unused"))

    assert database["USER"] == "us@er"
    assert database["PASSWORD"] == "p/w"
    assert (database["HOST"], database["PORT"], database["NAME"]) == ("db.example", "5433", "tp")
    assert database["OPTIONS"] == {"sslmode": "require"}


def test_without_a_database_url_sqlite_takes_write_locks_early(monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)

    database = env.database("DATABASE_URL", default_path=Path("tp.sqlite3"))

    assert database["ENGINE"].endswith("sqlite3")
    assert database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


@pytest.mark.parametrize("url", ["mysql://localhost/tp", "postgresql://localhost:many/tp"])
def test_another_database_is_refused(monkeypatch, url):
    monkeypatch.setenv("DATABASE_URL", url)

    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL must be postgresql://"):
        env.database("DATABASE_URL", default_path=Path("unused"))


def test_the_embedded_key_is_made_once_and_readable_by_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    path = tmp_path / "var" / "secret_key"

    first = env.secret_key("SECRET_KEY", embedded=True, path=path)
    second = env.secret_key("SECRET_KEY", embedded=True, path=path)

    assert first == second
    assert len(first) >= 50
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["secret_key"]


def test_a_server_without_a_key_does_not_start(tmp_path, monkeypatch):
    monkeypatch.delenv("SECRET_KEY", raising=False)

    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is not set"):
        env.secret_key("SECRET_KEY", embedded=False, path=tmp_path / "secret_key")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", env.MailServer()),
        ("smtp://localhost", env.MailServer(host="localhost", port=25)),
        (
            "smtp+tls://ada:p%40ss@mail.example.org",
            env.MailServer("mail.example.org", 587, "ada", "p@ss", starttls=True),
        ),
        ("smtps://mail.example.org:4650", env.MailServer("mail.example.org", 4650, ssl=True)),
    ],
)
def test_a_mail_server_is_read_from_its_address(monkeypatch, value, expected):
    monkeypatch.setenv("EMAIL_URL", value)

    assert env.mail_server("EMAIL_URL") == expected


@pytest.mark.parametrize("value", ["mail.example.org", "http://mail.example.org", "smtp://h:port"])
def test_a_mail_server_that_cannot_be_read_is_named(monkeypatch, value):
    monkeypatch.setenv("EMAIL_URL", value)

    with pytest.raises(ImproperlyConfigured, match=r"EMAIL_URL must be smtp\+tls://"):
        env.mail_server("EMAIL_URL")
