"""The prompts of a run: the text for a judgment, and the hash of its wording."""

import hashlib
from collections.abc import Sequence

from judging.models import JudgeRun
from judging.protocols.registry import protocol
from studies.models import Item, Study
from studies.prompts import BANDS, Wording, build_prompt, wording


def prompt_of(run: JudgeRun, item: Item, *, shown_first: str) -> str:
    """The prompt that a run asks about `item` with response `shown_first` as side A."""
    item.study = run.study  # saves a query per item
    return build_prompt(
        item,
        setting=run.setting,
        shown_first=shown_first,
        features=run.feature_keys,
        words=words_of,
    )


def words_of(task: str, setting: str, *, persona: bool = True) -> Wording:
    """The wording of `task` in a protocol: its own template, or the file of `studies.prompts`."""
    asked = protocol(setting)
    template = asked.template if persona else asked.template_without_persona
    if not template:
        return wording(task, setting, persona=persona)
    question = wording(task, "standard", persona=persona).question
    bands = repr(BANDS) if "{{ bands }}" in template else ""
    digest = hashlib.sha256("\n".join([question, template, bands]).encode()).hexdigest()
    return Wording(question, template, digest)


def tasks_of(study: Study) -> list[str]:
    """Every task that the study's items have."""
    of_items = Item.objects.filter(study=study).order_by().values_list("task", flat=True)
    return sorted({study.task, *of_items.distinct()})


def prompt_hash(
    study: Study, setting: str, keys: Sequence[str] | None, *, tasks: Sequence[str] | None = None
) -> str:
    """Hash of the wording of every task of the study; `tasks` are those that `tasks_of` found."""
    hashes = [
        words_of(task, setting, persona=keys != []).sha256
        for task in (tasks_of(study) if tasks is None else tasks)
    ]
    if len(hashes) == 1:
        return hashes[0]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()
