"""What every study must bear: report, pages, exports, verification, files and back, invariants."""

import io
import re
from pathlib import Path
from unittest.mock import patch

from django.core.management import CommandError, call_command, get_commands
from django.test import Client
from django.urls import reverse

from analysis import tasks
from analysis.exports import catalogue
from analysis.exports.catalogue import formats_of, is_folder
from analysis.exports.table_files import added_format
from analysis.lifecycle.requests import request_report
from analysis.models import Report
from studies.models import Item, Study
from tests.meetings.recount import Recount

# Tables that a study may not have; the refusal says so.
OPTIONAL = {"anchors", "versions"} | {each.name for each in catalogue.MORE}
RECOUNTED = ("items", "annotations", "judgments")
CLASS = re.compile(r"\b[A-Z][A-Za-z]+(?:Error|Exception|DoesNotExist)\b")
CHECKS = ("annotator_checks", "judge_checks", "file_checks")


def built(study: Study) -> Report:
    with patch.object(tasks.build_report, "delay_on_commit"):
        report = request_report(study_id=study.pk, bootstrap=100)
        tasks.build_report(report.pk)
    report.refresh_from_db()
    assert report.state == Report.State.DONE, report.message
    return report


def faults_of_pages(study: Study, report: Report, client: Client) -> list[str]:
    """Pages of researchers that do not open, or that show the name of an exception."""
    slug = study.slug
    faults = []
    addresses = [
        reverse("analysis:report", args=[slug, report.public_id]),
        reverse("analysis:open", args=[slug, report.public_id]),
        reverse("analysis:list", args=[slug]),
        reverse("studies:detail", args=[slug]),
        reverse("studies:monitor", args=[slug]),
        reverse("studies:items", args=[slug]),
        reverse("people:list", args=[slug]),
        reverse("judging:list", args=[slug]),
    ]
    for address in addresses:
        page = client.get(address)
        text = (b"".join(page.streaming_content) if page.streaming else page.content).decode()
        if page.status_code != 200:
            faults.append(f"{address}: {page.status_code}")
        elif found := CLASS.search(re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)):
            faults.append(f"{address} shows {found[0]}")
    return faults


def exported(study: Study, out: Path, number: int) -> Path:
    """Every export in a format that changes with the number of the row; RECOUNTED as lines too."""
    for what, formats in formats_of().items():
        if is_folder(what):
            continue
        formats = tuple(each for each in formats if not is_missing(each))
        chosen = {formats[number % len(formats)], *(formats[:1] if what in RECOUNTED else ())}
        for form in sorted(chosen):
            try:
                _command(
                    *("export", study.slug, "--what", what),
                    *("--format", form, "--out", str(out / f"{what}.{form}")),
                )
            except CommandError as error:
                if what not in OPTIONAL or not str(error).endswith("."):
                    raise
    _command("export", study.slug, "--what", "all", "--out", str(out / "all"))
    return out


def is_missing(form: str) -> bool:
    """Whether a format needs a package that is not installed."""
    added = added_format(form)
    return bool(added and added.missing())


def comes_back(study: Study, out: Path) -> None:
    """The study as files differs in nothing, and makes another study with the same items."""
    if "apply" not in get_commands():
        return
    _command("export", study.slug, "--what", "study", "--out", str(out / "study"))
    said = _command("apply", str(out / "study" / "study.toml"))
    assert "does not differ" in said, said
    toml = out / "study" / "study.toml"
    toml.write_text(toml.read_text("utf-8").replace(f'slug = "{study.slug}"', 'slug = "copy"'))
    _command("apply", str(toml), "--yes")
    copy = Study.objects.get(slug="copy")
    fields = ("key", "content_hash")
    assert sorted(Item.everything.filter(study=copy).values_list(*fields)) == sorted(
        Item.everything.filter(study=study).values_list(*fields)
    )


def recounted(report: Report, out: Path) -> list[str]:
    return Recount(out).differences(report.result)


def _command(*arguments: str) -> str:
    said = io.StringIO()
    call_command(*arguments, stdout=said, stderr=said)
    return said.getvalue()
