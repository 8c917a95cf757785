"""Publishing a bundle or a sealed plan: whether it may be sent, its files, and sending them."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from analysis.errors import ExportError
from analysis.exports.catalogue import DOCUMENTS, Disclosure, FolderOrder, StudyDocument
from analysis.exports.rows import K
from analysis.exports.table_files import added_format, write_text
from extras.publication import archives
from extras.publication.collection import collection_of
from extras.publication.connection import (
    ArchiveConnection,
    Leaving,
    PublicationRefused,
    files_of,
    packed,
)
from extras.publication.facts import authors
from studies.exporters.items import may_redistribute
from studies.held_copies import HeldBy, HeldCopy, PersonIn
from studies.models.studies import Study, StudyLog
from studies.services.studies import record

ARCHIVES = ("hub", "osf", "zenodo")
_SERVERS = {
    "hub": archives.HUB_SERVER,
    "osf": archives.OSF_SERVER,
    "zenodo": archives.ZENODO_SERVER,
}
TOKENS = {"hub": archives.HUB_TOKEN, "osf": archives.OSF_TOKEN, "zenodo": archives.ZENODO_TOKEN}
_BEGUN, _DONE = "publication begun", "published as a draft"
_KEYWORDS = ("LLM-as-a-judge", "annotation", "personalization", "thirdperson")


@dataclass(frozen=True)
class Wish:
    """What to publish where, and the owner's statements about it.

    `without_texts`: the items' texts stay here, because their source forbids passing them on.
    `consent_covers_sharing`: the participants agreed to publishing answers.
    """

    study: Study
    to: str
    what: str = "bundle"
    licence: str = ""
    repo: str = ""
    server: str = ""
    without_texts: bool = False
    consent_covers_sharing: bool = False

    @property
    def document(self) -> StudyDocument | None:
        """What to send in place of a bundle."""
        return next((document for document in DOCUMENTS if document.name == self.what), None)

    @property
    def address(self) -> str:
        return (self.server or _SERVERS[self.to]).rstrip("/")


def obstacles(wish: Wish) -> list[str]:
    """Everything that forbids the wish, and what to do about it."""
    return [*_obstacles_here(wish), *_obstacles_there(wish)]


def _obstacles_here(wish: Wish) -> Iterator[str]:
    """Obstacles from the study's licences and its participants' consent."""
    study = wish.study
    if wish.what != "bundle":
        return
    if not wish.licence:
        yield "The licence of the answers is not stated. Choose it with --licence."
    if not may_redistribute(study) and not wish.without_texts:
        yield (
            "The source of the items forbids passing their texts on. Add --without-texts to send "
            "items as ids and hashes, without texts and model replies."
        )
    if collection_of(study, k=K).has_participants and not wish.consent_covers_sharing:
        yield (
            "People answered in this study. Read the consent text that they saw (it is in the "
            "README.md of the bundle, and on the page Texts): if it covers publishing their "
            "answers without names, add --consent-covers-sharing. Otherwise the answers stay here."
        )


def _obstacles_there(wish: Wish) -> Iterator[str]:
    """Choices that this archive needs."""
    if wish.to == "hub" and wish.document:
        yield (
            f"{wish.document.words} needs an archive that states when it arrived. Use --to "
            "zenodo or --to osf."
        )
    elif wish.to == "hub" and wish.repo.count("/") != 1:
        yield "The hub needs a name for the data set: --repo OWNER/NAME."
    if not _token(wish.to):
        name = TOKENS[wish.to]
        yield (
            f"The environment variable {name} is not set. It contains your token for "
            f"{wish.address}."
        )


def _token(to: str) -> str:
    return os.environ.get(TOKENS[to], "").strip()


@contextmanager
def prepared(wish: Wish) -> Iterator[tuple[Leaving, ...]]:
    """The files to send, in a temporary folder. Raises `AnalysisError` or `OSError`."""
    with tempfile.TemporaryDirectory(prefix="thirdperson-") as temporary:
        name = f"{wish.study.slug}-{'data' if wish.what == 'bundle' else wish.what}"
        folder = Path(temporary) / name
        if document := wish.document:
            texts = document.files(wish.study)
            if not texts:
                raise ExportError(document.lacks.format(study=wish.study.slug))
            for name, text in texts.items():
                # What archives show first.
                write_text(folder / ("README.md" if name.endswith(".md") else name), text)
            yield files_of(folder)
            return
        # The copy of the report in a bundle loads the statistics.
        from analysis.exports.bundle import write_folder

        order = FolderOrder(Disclosure(), wish.licence)
        also = "parquet" if added_format("parquet") else None
        write_folder(wish.study, folder, order, also=also)
        yield files_of(folder) if wish.to == "hub" else packed(folder, name)


def publish(
    wish: Wish, files: Sequence[Leaving], *, on_file: Callable[[Leaving, bool], None], by: str
) -> str:
    """Send the files to a private draft and return its address. The study's log records it.

    A second call continues an earlier one. Raises `PublicationRefused` before anything is sent, and
    `PublicationFailed` later.
    """
    if reasons := obstacles(wish):
        raise PublicationRefused(" ".join(reasons))
    domain = archives.OSF_DOMAIN if wish.address == archives.OSF_SERVER else ""
    server = ArchiveConnection(wish.address, _token(wish.to), domain=domain)
    send = {"hub": _to_hub, "osf": _to_osf, "zenodo": _to_zenodo}[wish.to]
    address = send(wish, server, files, on_file)
    sha256 = {file.name: file.sha256 for file in files}
    record(wish.study, _DONE, **_place(wish), by=by, address=address, sha256=sha256)
    return address


def _copies(person: PersonIn) -> Iterator[HeldCopy]:
    """The drafts that may contain a person's answers; archives keep published versions for good."""
    without = [document.name for document in DOCUMENTS if not document.follows_answers]
    for entry in person.study.log.filter(event=_DONE).exclude(detail__what__in=without):
        if person.may_be_in(entry.created_at):
            yield HeldCopy(
                f"log {entry.pk}",
                f"Publication at {entry.detail.get('address', 'an archive')}",
                entry.created_at,
                "Delete the draft there. If it was published, publish a version without them, and "
                "ask the archive to restrict the old one.",
            )


HELD = HeldBy("publication", copies=_copies)


def _to_hub(wish: Wish, server: ArchiveConnection, files: Sequence[Leaving], on_file: Any) -> str:
    message = f"Data of the study {wish.study.slug}"
    return archives.put_dataset(server, files, repo=wish.repo, message=message, on_file=on_file)


def _to_osf(wish: Wish, server: ArchiveConnection, files: Sequence[Leaving], on_file: Any) -> str:
    return archives.put_project(
        server,
        files,
        title=_title(wish),
        description=_description(wish),
        known=_begun(wish),
        remember=partial(_remember, wish),
        on_file=on_file,
    )


def _to_zenodo(
    wish: Wish, server: ArchiveConnection, files: Sequence[Leaving], on_file: Any
) -> str:
    metadata = archives.metadata_of(
        title=_title(wish),
        description=_description(wish),
        authors=authors(wish.study),
        licence=wish.licence,
        keywords=_KEYWORDS,
    )
    return archives.put_draft(
        server,
        files,
        metadata=metadata,
        known=_begun(wish),
        remember=partial(_remember, wish),
        on_file=on_file,
    )


def _title(wish: Wish) -> str:
    kind = wish.document.title if wish.document else "Answers and judgments of"
    simulated = " (simulated)" if wish.study.is_simulated else ""
    return f"{kind} “{wish.study.title}”{simulated}"


def _description(wish: Wish) -> str:
    if wish.document:
        return wish.document.description
    lines = [
        "Which of two responses a person would prefer, as judged by people and by language models.",
        "README.md describes the tables, how they were collected, and their limits. LICENSE has "
        "the terms: items keep those of their source.",
    ]
    if wish.study.is_simulated:
        lines.append("People and models in these data are simulated.")
    return "\n".join(lines)


def _place(wish: Wish) -> dict[str, Any]:
    return {"to": wish.to, "server": wish.address, "what": wish.what}


def _remember(wish: Wish, draft: str) -> None:
    record(wish.study, _BEGUN, **_place(wish), draft=draft)


def _begun(wish: Wish) -> str:
    """The draft of an earlier try at this archive; empty if there is none."""
    rows = StudyLog.objects.filter(study=wish.study, event=_BEGUN)
    details = rows.order_by("-pk").values_list("detail", flat=True)
    place = _place(wish)
    return next((row["draft"] for row in details if place.items() <= row.items()), "")
