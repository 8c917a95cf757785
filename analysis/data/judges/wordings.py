"""The words that judges of a study were asked, and the wordings of a study, for exports."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from judging.models import JudgeRun, PromptTemplate
from judging.prompts.asking import stored_words, tasks_of
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


def asked_words(study: Study) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """The words of each way of asking by the name of its file, and which runs were asked so.

    The file of a run whose words are no longer stored is None.
    """
    files: dict[str, dict[str, Any]] = {}
    runs, tasks = [], tasks_of(study)
    stored = JudgeRun.objects.filter(study=study, is_imported=False).exclude(prompt_hash="")
    for run in stored.select_related("judge", "study", "wording").order_by("key"):
        name = None
        if words := stored_words(run, tasks):
            shown = {"prompt_hash": run.prompt_hash, **words}
            digest = hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()
            name = f"{run.setting}.{digest[:8]}.json"
            files[name] = shown
        runs.append(
            {
                "run": run.key,
                "judge": run.judge.name,
                "setting": run.setting,
                "features": run.features,
                "prompt_hash": run.prompt_hash,
                "file": name,
            }
        )
    return files, runs
