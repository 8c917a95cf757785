"""Setting up a panel: who may, what is refused, and what a copy of a study gets."""

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import transaction

from extras.panels.models import Panel, PanelPerson
from studies.errors import StudyError
from studies.models import Study
from studies.money import format_money
from studies.services.studies import check_seen, lock_study, record, seen_of
from studies.services.whole_studies import StudyContent, copy_rows


def seen_panel(panel: Panel | None) -> str:
    """The hash of a stored panel that a form shows; the same for every new one."""
    return seen_of(str(vars(panel) | {"_state": None})) if panel else seen_of("new")


@transaction.atomic
def save_panel(panel: Panel, *, seen: str | None = None, user: User | None = None) -> Panel:
    """Store a new or changed panel, with a line in the study's log.

    Once somebody has come, its kind and short name are fixed: their ids depend on both. Raises
    `StudyError`, and `StaleVersion` if it is not the one whose `seen_panel` a form showed.
    """
    study = lock_study(panel.study_id)
    stored = Panel.objects.filter(pk=panel.pk).first()
    check_seen(study, seen, seen_panel(stored), what=f"the panel “{panel.title}”")
    if stored is not None and PanelPerson.objects.filter(panel=stored).exists():
        if (stored.preset, stored.name) != (panel.preset, panel.name):
            raise StudyError(
                f"People have come from “{stored.title}”, so its kind and short name are fixed. "
                "Add another panel instead."
            )
        agreed = stored.people.filter(annotator__consented_at__isnull=False)
        if panel.reward < stored.reward and agreed.exists():
            before = format_money(stored.reward, study.currency)
            raise StudyError(
                f"People of “{stored.title}” have agreed to {before}, so the pay can only go up."
            )
    if Panel.objects.filter(study=study, name=panel.name).exclude(pk=panel.pk).exists():
        raise StudyError(f"This study has a panel “{panel.name}”. Choose another short name.")
    panel.save()
    record(study, "panel set", user=user, panel=panel.name, preset=panel.preset)
    return panel


@transaction.atomic
def remove_panel(panel: Panel, *, user: User | None = None) -> None:
    """Delete a panel from which nobody has come. Raises `StudyError` otherwise."""
    study = lock_study(panel.study_id)
    if PanelPerson.objects.filter(panel=panel).exists() or panel.payment_files.exists():
        raise StudyError(
            f"People have come from “{panel.title}”, so it stays. Close the project there to stop "
            "more people from coming."
        )
    name = panel.name
    panel.delete()
    record(study, "panel removed", user=user, panel=name)


def copy_panels(study: Study, copy: Study) -> None:
    """Copy the panels without their secrets: whoever copies a study may not know them."""
    copy_rows(
        Panel.objects.filter(study=study),
        study_id=copy.pk,
        signature="",
        signs_returns=False,
        sealed_secret="",
    )


def needed(study: Study) -> Iterable[str]:
    """Why panels cannot be turned off now."""
    if study.is_under_way and Panel.objects.filter(study=study).exists():
        yield "People can still come from panels. Close the study first, or remove the panels."


def content_of(study: Study) -> StudyContent:
    panels = Panel.objects.filter(study=study).count()
    return StudyContent([("panels", panels)] if panels else [])
