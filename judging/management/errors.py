"""Errors of judging as a command shows them: fields are named by their options."""

from django.core.management.base import CommandError

from judging.errors import FieldError, InvalidValue

_OPTIONS = {
    "by_batch": "--batch",
    "extra_headers": "--extra-header",
    "secret_headers": "--secret-header",
    "is_own_server": "--own-server",
    "model_options": "--option",
    "more_base_urls": "--also-at",
    "prompt_language": "--language",
    "own_sources": "--own-source",
}


def option_name(field: str) -> str:
    return _OPTIONS.get(field) or f"--{field.replace('_', '-')}"


def command_error(error: Exception) -> CommandError:
    """The error for the terminal; an invalid value ends the command like a wrong option."""
    words = error.worded(option_name) if isinstance(error, FieldError) else str(error)
    return CommandError(words, returncode=2 if isinstance(error, InvalidValue) else 1)
