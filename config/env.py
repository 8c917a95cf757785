"""Typed readers of the environment; a bad value stops the start with a sentence that names it."""

import contextlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

DOTENV = Path(__file__).resolve().parent.parent / ".env"
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}


def load_dotenv(path: Path) -> None:
    """Read KEY=value lines into the environment; what is set already wins."""
    if not path.is_file():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        key, separator, value = line.partition("=")
        if not separator or not key.strip().isidentifier():
            raise ImproperlyConfigured(f"{path.name}, line {number}: expected KEY=value.")
        os.environ.setdefault(key.strip(), value.strip().strip("\"'"))


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def flag(name: str, default: bool) -> bool:
    value = text(name, "1" if default else "0").lower()
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not “{value}”.")


def integer(name: str, default: int, *, low: int, high: int) -> int:
    value = text(name, str(default))
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not “{value}”.") from None
    if not low <= number <= high:
        raise ImproperlyConfigured(f"{name} must be from {low} to {high}, not {number}.")
    return number


def choice(name: str, default: str, *, among: tuple[str, ...]) -> str:
    value = text(name, default).upper()
    if value not in among:
        raise ImproperlyConfigured(f"{name} must be {' or '.join(among)}, not “{value}”.")
    return value


def folder(name: str, default: Path) -> Path:
    """A folder, made if need be."""
    path = Path(text(name, str(default)))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name}: the folder {path} cannot be made: {error.strerror}. Name another."
        ) from None
    return path


def words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def url(name: str, default: str = "", *, schemes: tuple[str, ...] = ("http", "https")) -> str:
    value = text(name, default)
    if value and (urlsplit(value).scheme not in schemes or not urlsplit(value).netloc):
        raise ImproperlyConfigured(
            f"{name} must be an URL with {' or '.join(schemes)}://, not “{value}”."
        )
    return value


@dataclass(frozen=True)
class MailServer:
    """Where e-mail is handed over; without a host there is none."""

    host: str = ""
    port: int = 25
    user: str = ""
    password: str = ""
    ssl: bool = False
    starttls: bool = False


_MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


def mail_server(name: str) -> MailServer:
    """smtp://, smtp+tls:// (encrypted after the greeting) or smtps:// with user:password@host."""
    value = text(name)
    if not value:
        return MailServer()
    parts = urlsplit(value)
    try:
        port = parts.port or _MAIL_PORTS[parts.scheme]
    except (KeyError, ValueError):
        port = 0
    if not port or not parts.hostname:
        raise ImproperlyConfigured(
            f"{name} must be smtp+tls://user:password@host:587, smtps://… or smtp://…."
        )
    return MailServer(
        host=parts.hostname,
        port=port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        ssl=parts.scheme == "smtps",
        starttls=parts.scheme == "smtp+tls",
    )


def database(name: str, *, default_path: Path) -> dict[str, object]:
    """Django's settings of one database: PostgreSQL by URL, otherwise SQLite in `default_path`."""
    value = text(name)
    parts = urlsplit(value)
    if not value or parts.scheme == "sqlite":
        path = Path(unquote(parts.path)) if value else default_path
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(path),
            # IMMEDIATE takes the write lock at BEGIN: a transaction that reads before it
            # writes then waits its turn instead of failing with "database is locked".
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                # SQLite lets nobody queue: under a crowd an unlucky writer waits long.
                "timeout": 120,
                # What is deleted is overwritten: a name stays in no free page of the file.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA secure_delete=ON;",
            },
            "CONN_MAX_AGE": 600,
        }
    unreadable = ImproperlyConfigured(
        f"{name} must be postgresql://user:password@host/name or sqlite:///path."
    )
    if parts.scheme not in {"postgres", "postgresql"}:
        raise unreadable
    try:
        port = str(parts.port or "")
    except ValueError:
        raise unreadable from None
    options = {}
    host = unquote(parts.hostname or "")
    for pair in filter(None, parts.query.split("&")):
        key, _, option = pair.partition("=")
        if key == "host":
            host = unquote(option)
        else:
            options[key] = unquote(option)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": port,
        "OPTIONS": options,
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
    }


def secret_key(name: str, *, embedded: bool, path: Path) -> str:
    """The secret of this installation; generated once, and only on the embedded default."""
    value = text(name)
    if value:
        return value
    if not embedded:
        raise ImproperlyConfigured(
            f"{name} is not set. Every machine of an installation has the same: take it from the "
            "first one. For a new installation it is a long random text, for example the output "
            "of: python -c 'import secrets; print(secrets.token_urlsafe(50))'"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_urlsafe(50), encoding="ascii")
    # A link appears whole or not at all: of two processes that start together, one sets the
    # key and the other reads it.
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
    return path.read_text(encoding="ascii")
