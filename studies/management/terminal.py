"""What commands share: finding a study, options for files, progress, invalid settings."""

import errno
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TextIO

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from studies.importers.files.answer_rows import ScaleRange, scale_of
from studies.importers.files.faults import Refused
from studies.jobs.models import Job
from studies.models import Study
from studies.services.extras import turn_off, turn_on
from studies.texts.cells import ENCODINGS
from studies.texts.toml_values import NotToml, toml_value

_POLL_SECONDS = 0.1
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def find_study(slug: str) -> Study:
    """The study with this short name. Raises `CommandError` that lists the existing studies."""
    try:
        return Study.objects.get(slug=slug)
    except Study.DoesNotExist:
        known = ", ".join(Study.objects.order_by("slug").values_list("slug", flat=True)[:20])
        raise CommandError(
            f"There is no study “{slug}”. "
            + (f"Use one of: {known}." if known else "Create one with create_study.")
        ) from None


@contextmanager
def using(study: Study, *names: str) -> Iterator[None]:
    """Turn on the extras of what the block stores; they stay on only if it raises nothing.

    Empty names are ignored. What only shows something needs no block.
    """
    before = {*study.extras}
    sentences = turn_on(study, *names)
    try:
        yield
    except BaseException:
        if new := {*study.extras} - before:
            turn_off(study, *new)
        raise
    for sentence in sentences:
        sys.stderr.write(f"{sentence}\n")


def of_the_disk(error: OSError, path: object = "") -> str:
    """What a disk or a storage refused, in a sentence with what to do."""
    if not error.strerror:
        return str(error)  # of a storage, in words
    remedy = "Free space on its disk." if error.errno in _FULL else "Check the path and its rights."
    return f"{error.filename or path} cannot be read or written: {error.strerror}. {remedy}"


def read_settings(path: Path, known: Collection[str]) -> dict[str, Any]:
    """The settings in a TOML file. Raises `CommandError` for one that is not `known`."""
    try:
        settings = toml_value(path.read_bytes())
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except NotToml as error:
        raise CommandError(f"{path} is not TOML: {error}.") from error
    for name in settings:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known are: {', '.join(known)}."
            raise CommandError(f"{path}: a study has no setting “{name}”. {hint}")
    return settings


def add_encoding(parser: ArgumentParser) -> None:
    """The option for text files that are not UTF-8."""
    parser.add_argument(
        "--encoding",
        choices=[*ENCODINGS],
        default="",
        metavar="NAME",
        help="encoding of a text file: UTF-8, or Windows-1252 if it is not UTF-8, unless named",
    )


def add_how(parser: ArgumentParser, *, dry_run: str = "") -> None:
    """The options for who does the work; with words for it, also `--dry-run`."""
    how = parser.add_mutually_exclusive_group()
    if dry_run:
        how.add_argument("--dry-run", action="store_true", help=dry_run)
    how.add_argument("--wait", action="store_true", help="wait until the workers finish")
    how.add_argument("--inline", action="store_true", help="run in this process, without a broker")


def wait_for(job: Job) -> None:
    """Return when a worker has finished the job. Raises `CommandError` while no worker is there."""
    while job.is_open:
        if job.is_stalled:
            raise CommandError(job.sentence)
        time.sleep(_POLL_SECONDS)
        job.refresh_from_db()


def add_skip_faulty(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--skip-faulty", action="store_true", help="leave faulty rows out, and list them"
    )


def skip_hint(error: Refused, options: dict[str, Any]) -> str:
    """A line that names the option, if it can leave out all rows that a file is refused for."""
    are_rows = all(fault.line is not None and not fault.ends_reading for fault in error.faults)
    if options["skip_faulty"] or not are_rows:
        return ""
    return "\nTo leave the faulty rows out: --skip-faulty."


def add_scale(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--scale",
        type=_scale,
        metavar="LOW-HIGH",
        help="scale of the certainties, if it is not 1-100",
    )


def _scale(text: str) -> ScaleRange:
    if (scale := scale_of(text)) is None:
        raise ArgumentTypeError(f"must be two numbers such as 1-5, not “{text}”")
    return scale


def explain(error: ValidationError) -> str:
    """One line for each invalid setting, with the reason and what can be chosen."""
    choices = {field.name: field.flatchoices for field in Study._meta.fields}
    lines = []
    for field, problems in error.error_dict.items():
        words = [message for problem in problems for message in problem.messages]
        if any(problem.code == "invalid_choice" for problem in problems) and choices.get(field):
            words.append(f"Use one of: {', '.join(str(value) for value, _ in choices[field])}.")
        lines.append(f"{field}: {' '.join(words)}")
    return "The study was not created.\n" + "\n".join(lines)


def progress_bar(stream: TextIO, *, total: int, label: str = "") -> Any:
    """A tqdm bar on `stream`, cleared when the work ends or fails.

    Use it with `with`; `update(n)` counts. It does nothing if `stream` is not a terminal.
    """
    from tqdm import tqdm  # Here, because only some commands show progress.

    return tqdm(total=total, desc=label, file=stream, disable=None, leave=False, dynamic_ncols=True)
