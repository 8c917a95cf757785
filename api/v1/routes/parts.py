"""Parts of a study's design that extras add, as the files of a study's folder."""

import tempfile
from pathlib import Path

from django.db import transaction
from django.http import Http404, HttpRequest
from ninja import Router, Schema
from pydantic import ConfigDict, Field

from api.v1.access import EDITOR, READ, WRITE, needs, study_of, user_of
from studies.extra import extras_for_studies
from studies.services.extras import turn_on
from studies.services.studies import lock_study
from studies.study_folder import MORE, Folder, StudyFilePart

router = Router(tags=["parts"])
_KIND = ".toml"
_MOST = 200_000  # letters


class StudyPart(Schema):
    name: str
    file: str = Field(description="Its file in a study's folder, such as panels.toml.")
    content: str = Field(description="The TOML text; empty if the study has no such part.")


class NewStudyPart(Schema):
    model_config = ConfigDict(extra="forbid")

    content: str = Field(max_length=_MOST)


class StudyParts(Schema):
    parts: list[StudyPart]


class ChangedPart(StudyPart):
    remarks: list[str]


def parts_of_extras() -> dict[str, StudyFilePart]:
    """Parts that are one TOML file of an extra that studies turn on, by name."""
    known = extras_for_studies()
    return {
        part.name: part
        for part in MORE
        if part.file.endswith(_KIND) and MORE.extra_of(part.name) in known
    }


@router.get(
    "studies/{slug}/parts", response=StudyParts, auth=needs(READ), operation_id="list_parts"
)
def index(request: HttpRequest, slug: str) -> dict[str, list[StudyPart]]:
    """The parts that extras add to a study's design: panels, remarks, graded answers …"""
    study = study_of(request, slug)
    return {
        "parts": [
            StudyPart(name=name, file=part.file, content=str(part.write(study).get(part.file, "")))
            for name, part in parts_of_extras().items()
        ]
    }


@router.put(
    "studies/{slug}/parts/{part}", response=ChangedPart, auth=needs(WRITE), operation_id="set_part"
)
@transaction.atomic
def change(request: HttpRequest, slug: str, part: str, body: NewStudyPart) -> ChangedPart:
    """Give a study a part, as `apply` does; an extra that it needs is turned on."""
    study, own = study_of(request, slug, EDITOR), parts_of_extras().get(part)
    if own is None:
        raise Http404(f"There is no part “{part}”.")
    turned_on = turn_on(study, MORE.extra_of(part), user=user_of(request))
    study = lock_study(study.pk)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / own.file
        path.write_text(body.content, encoding="utf-8")
        remarks = own.apply(study, Folder(path.parent), own.file, user=user_of(request))
    content = str(own.write(study).get(own.file, ""))
    return ChangedPart(name=part, file=own.file, content=content, remarks=[*turned_on, *remarks])
