"""The environment, read with django-environ; a bad value stops the start with an error sentence.

    env("PORT", cast=whole_number(1, 65535), default=8000)

The casts below turn text into a value, or raise `ValueError` saying what it must be.
"""

import contextlib
import io
import logging
import os
import re
import secrets
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

logger = logging.getLogger(__name__)
DOTENV = Path(os.environ.get("DOTENV_FILE") or Path(__file__).resolve().parent.parent / ".env")
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}
_NAME = re.compile(r"(?:export )?[A-Za-z_]\w*")


class Env(environ.Env):
    """django-environ with three differences that make mistakes visible.

    An empty value counts as unset, a `$` in a secret is an ordinary character, and every error
    names the variable.
    """

    def get_value(
        self,
        var: str,
        cast: Any = None,
        default: Any = environ.Env.NOTSET,
        parse_default: bool = False,
    ) -> Any:
        value = self.ENVIRON.get(var, "").strip()
        if not value:
            return self.parse_value(default, cast) if parse_default else default
        try:
            return self.parse_value(value, cast)
        except ValueError as error:
            raise ImproperlyConfigured(f"{var} {error}") from None


env = Env()


def read_dotenv() -> None:
    """Read the KEY=value lines of `DOTENV` into the environment; variables already set win."""
    path = DOTENV
    if not path.is_file():
        return
    assignments = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, separator, value = line.partition("=")
        if not separator or not _NAME.fullmatch(name.strip()):
            raise ImproperlyConfigured(f"{path.name}, line {number}: expected KEY=value.")
        assignments.append(f"{name.strip()}={value.strip()}")
    Env.read_env(io.StringIO("\n".join(assignments)))


def flag(value: str) -> bool:
    if value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    raise ValueError(f"must be 1 or 0, not “{value}”.")


def whole_number(low: int, high: int) -> Callable[[str], int]:
    def cast(value: str) -> int:
        with contextlib.suppress(ValueError):
            if low <= int(value) <= high:
                return int(value)
        raise ValueError(f"must be a whole number from {low} to {high}, not “{value}”.")

    return cast


def percentage(value: str) -> Decimal:
    """“42.8” percent as a share."""
    with contextlib.suppress(InvalidOperation):
        if 0 <= (percent := Decimal(value)) <= 100:
            return percent / 100
    raise ValueError(f"must be a number of percent from 0 to 100, not “{value}”.")


def one_of(*choices: str) -> Callable[[str], str]:
    def cast(value: str) -> str:
        if value.upper() in choices:
            return value.upper()
        raise ValueError(f"must be {' or '.join(choices)}, not “{value}”.")

    return cast


def words(value: str) -> list[str]:
    """Words separated by commas."""
    return [word for part in value.split(",") if (word := part.strip())]


def outside_extras() -> dict[str, str]:
    """The extras that installed packages bring: their package, and the address of the manifest.

    A package registers as an entry point of the group `thirdperson.extras`: “package.module:NAME”.
    """
    brought = {}
    for point in entry_points(group="thirdperson.extras"):
        package = point.module.partition(".")[0]
        if find_spec(package) is None:
            logger.error("The extra %s was left out: there is no package %s.", point.name, package)
        else:
            brought[package] = point.value
    return brought


def key_variables(value: str) -> list[str]:
    """Names of environment variables; a final * matches any ending."""
    names = words(value)
    for name in names:
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]{3,}\*?", name):
            raise ValueError(
                f"must be names such as TOGETHER_API_KEY or MODEL_KEY_*, separated by commas, not "
                f"“{name}”. Write four characters or more before a *."
            )
    return names


def address(*schemes: str) -> Callable[[str], str]:
    def cast(value: str) -> str:
        if urlsplit(value).scheme in schemes and urlsplit(value).netloc:
            return value
        # The value may hold a password, so it is not repeated.
        raise ValueError(f"must be a URL that starts with {'://, '.join(schemes)}://.")

    return cast


_FILES = "must be folder or s3://bucket/prefix"


def files(value: str) -> dict[str, Any]:
    """Django's settings of the storage of generated files."""
    if value.lower() == "folder":
        return {"BACKEND": "studies.file_storage.folder.FolderStorage"}
    if value.lower() == "database":
        raise ValueError(
            f"{_FILES}: files cannot be in the database. If yours are, first run manage.py files "
            "--copy-from database with the new value in the version of the program that put them "
            "there, then update."
        )
    parts = urlsplit(value)
    if parts.scheme != "s3":
        raise ValueError(f"{_FILES}, not “{value}”.")
    if not parts.netloc or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError(f"{_FILES}, without keys and options, which have their own variables.")
    # Only looked up, because just the processes that read files need them.
    if not (find_spec("storages") and find_spec("boto3")):
        raise ValueError(
            "is a bucket, which needs two more packages: pip install -r requirements-s3.txt (of an "
            "installed package, pip install 'thirdperson[s3]')."
        )
    return {
        "BACKEND": "studies.file_storage.bucket.BucketStorage",
        "OPTIONS": {"bucket_name": parts.netloc, "location": parts.path.strip("/")},
    }


def folder(value: str | Path) -> Path:
    """A folder, created if missing."""
    path = Path(value)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"is {path}, a folder that cannot be created: {error.strerror}. Choose another folder."
        ) from None
    return path


_MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


def mail_server(value: str) -> dict[str, Any]:
    """smtp://, smtp+tls:// (encrypted after the greeting) or smtps:// as Django's settings."""
    scheme, _, rest = value.partition("://")
    try:
        # django-environ uses smtps for the other kind of encryption.
        settings = Env.email_url_config(f"{'smtp+ssl' if scheme == 'smtps' else scheme}://{rest}")
        port = settings["EMAIL_PORT"] or _MAIL_PORTS[scheme]
    except (KeyError, ValueError, ImproperlyConfigured):
        settings = {}
    if scheme not in _MAIL_PORTS or not settings.get("EMAIL_HOST"):
        raise ValueError("must be smtp+tls://user:password@host:587, smtps://… or smtp://….")
    return {
        "EMAIL_HOST": settings["EMAIL_HOST"],
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": settings["EMAIL_HOST_USER"] or "",
        "EMAIL_HOST_PASSWORD": settings["EMAIL_HOST_PASSWORD"] or "",
        "EMAIL_USE_SSL": scheme == "smtps",
        "EMAIL_USE_TLS": scheme == "smtp+tls",
    }


def sqlite(path: Path) -> dict[str, Any]:
    """Django's settings for an SQLite database."""
    return {
        "ENGINE": "config.sqlite",
        "NAME": str(path),
        # IMMEDIATE takes the write lock at BEGIN, so a transaction that reads before it writes
        # waits its turn instead of failing with "database is locked".
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 120,  # seconds for which a writer tries again
            # Deleted data is overwritten, so that no name remains in a free page of the file.
            # SQLite waits 20 ms for a lock, then config/sqlite tries again.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA secure_delete=ON; "
            "PRAGMA busy_timeout=20;",
        },
        "CONN_MAX_AGE": 600,
    }


def database(value: str) -> dict[str, Any]:
    """Django's settings for the database of a URL."""
    parts = urlsplit(value)
    if parts.scheme == "sqlite":
        return sqlite(Path(unquote(parts.path)))
    try:
        is_postgres = value.startswith(("postgres://", "postgresql://"))
        database = Env.db_url_config(value) if is_postgres else None
    except ValueError:
        database = None
    if database is None:
        raise ValueError("must be postgresql://user:password@host/name or sqlite:///path.")
    options = database.pop("OPTIONS", {})
    # The host may be the folder of a socket: percent-encoded, or in the query.
    host = options.pop("host", "") or unquote(database.pop("HOST"))
    # A host that does not answer must not hold a page for minutes.
    options.setdefault("connect_timeout", 5)
    return {
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        **database,
        "ENGINE": "django.db.backends.postgresql",
        "HOST": host,
        "OPTIONS": options,
    }


def secret_key(*, embedded: bool, path: Path) -> str:
    """The secret of this installation, generated once and only in the embedded default."""
    if value := env.str("SECRET_KEY", default=""):
        return str(value)
    if not embedded:
        raise ImproperlyConfigured(
            "SECRET_KEY is not set. All machines of an installation need the same one: copy it "
            "from the first machine. For a new installation, use a long random text, for example "
            "the output of: python -c 'import secrets; print(secrets.token_urlsafe(50))'"
        )
    try:
        with contextlib.suppress(FileNotFoundError):
            return path.read_text(encoding="ascii")
        return _new_secret_key(path)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be read or written: {error.strerror}. Free disk space and let this "
            "program write there, or set SECRET_KEY."
        ) from None


def _new_secret_key(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50), encoding="ascii")
        # A link is created completely or not at all: of two processes that start together, one sets
        # the key and the other reads it.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return path.read_text(encoding="ascii")
