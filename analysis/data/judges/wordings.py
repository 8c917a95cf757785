"""The wordings of a study, which an export holds next to the prompts of the settings."""

import re
from dataclasses import dataclass

from judging.models import PromptTemplate
from studies.models import Study


@dataclass(frozen=True)
class OwnWording:
    """A text of one version of a wording; texts of items in it are slots."""

    file_name: str
    sha256: str
    text: str


def wordings_of(study: Study) -> list[OwnWording]:
    """Every text of every version, with a file name that is unique in the study."""
    found = []
    versions = PromptTemplate.objects.filter(study=study).defer("exact_texts")
    for wording in versions.order_by("name", "version"):
        # A name can hold any sign; two names that are alike as files differ by their hash.
        stem = re.sub(r"[^\w.-]", "_", wording.name, flags=re.ASCII)
        name = f"wording.{stem}.{wording.version}.{wording.sha256[:8]}"
        for end, text in (
            ("", wording.template),
            (".no_persona", wording.template_without_persona),
        ):
            if text:
                found.append(OwnWording(f"{name}{end}.txt", wording.sha256, text))
    return found
