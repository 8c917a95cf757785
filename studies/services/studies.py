"""Changes to a study, its opening after launch checks, and whether providers may see its items.

Changes of seats or content hold the lock on the Study row. Each app adds its own launch checks. A
blocking check prevents opening; advice can be overridden with a reason, which is logged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F

from studies.errors import OpeningRefused, StaleVersion, StudyError
from studies.extra import Kind
from studies.models import Membership, Study, StudyLog
from studies.models.added_settings import added_fields, extras_of, store_added
from studies.services.presets import CREATED, PRESETS, extras_of_preset, preset_named
from studies.services.presets import FOLLOWERS as FOLLOWERS_OF_PRESETS
from studies.statements import clock
from studies.texts.normalisation import digest


def lock_study(study_id: int) -> Study:
    """Lock the row that every change of seats, quotas and content locks first.

    Raises an error outside a transaction, where the lock would be released immediately.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("lock_study needs a transaction")
    return Study.objects.select_for_update(no_key=True).get(pk=study_id)


def seen_of(*values: Any) -> str:
    """A short hash of what a form shows, sent back as `seen`."""
    return digest([*values])[:16]


def check_seen(study: Study, seen: str | None, now: str, *, what: str) -> None:
    """Raise `StaleVersion` if what a user wants to replace has changed since they saw it.

    The study must be locked; `now` is the hash of what is stored. Without a form, `seen` is None.
    """
    if seen is not None and seen != now:
        raise StaleVersion(
            f"Someone else changed {what} of “{study.slug}” while you edited. Nothing was saved. "
            "Open this page in another tab to see theirs. To replace it with yours, save again."
        )


RESERVED = {"new"}


@transaction.atomic
def create_study(*, slug: str, owner: User | None = None, preset: str = "", **fields: Any) -> Study:
    """Create a study, owned by `owner` if given; `fields` take precedence over the preset.

    Raises `StudyError` if the name is taken or reserved for an address of this site, or there is
    no such preset, and `ValidationError` if settings are invalid.
    """
    if preset:
        fields = {**preset_named(preset).settings, "extras": extras_of_preset(preset), **fields}
    if slug in RESERVED:
        raise StudyError(f"“{slug}” is an address of this site. Choose another short name.")
    if slug.startswith("-"):
        raise StudyError(
            f"“{slug}” begins with a dash, and commands would read it as an option. Begin the "
            "short name with a letter or a digit."
        )
    taken = StudyError(f"There is already a study “{slug}”. Choose another short name.")
    if Study.objects.filter(slug=slug).exists():
        raise taken
    added = {name: fields.pop(name) for name in added_fields() if name in fields}
    refuse_fractions(fields)
    study = Study(slug=slug, **{"title": slug, **fields})
    vars(study).update(added)
    # A study that another request creates at this moment is the database's to refuse, below.
    study.full_clean(validate_unique=False)
    study.extras = sorted({*study.extras, *extras_of(added)})
    try:
        with transaction.atomic():
            study.save()
    except IntegrityError:
        # Another request took the name after the check above.
        raise taken from None
    store_added(study)
    if owner is not None:
        Membership.objects.create(study=study, user=owner, role=Membership.Role.OWNER)
    record(study, CREATED, user=owner, **({"preset": preset} if preset else {}))
    if preset:
        for follow in FOLLOWERS_OF_PRESETS.of(study):
            follow(study, PRESETS[preset])
    return study


def refuse_fractions(fields: Mapping[str, Any]) -> None:
    """Raise `ValidationError` for a number with decimals where a whole one is stored.

    Django cuts the decimals off, so that a reward of 4.5 would be 4 cents.
    """
    whole = {f.name for f in Study._meta.concrete_fields if isinstance(f, models.IntegerField)}
    for name in sorted(whole & fields.keys()):
        value = fields[name]
        is_whole = not isinstance(value, bool | float) or (
            isinstance(value, float) and value.is_integer()
        )
        if not is_whole:
            problem = f"“{value}” is not a whole number."
            if name == "reward":
                problem += " Write cents, or whatever the smallest unit of the currency is: 450."
            raise ValidationError({name: problem})


# The allowed next states of each state. A closed study can be opened again; an opened study never
# becomes a draft again.
_TRANSITIONS = {
    Study.State.DRAFT: {Study.State.OPEN, Study.State.CLOSED},
    Study.State.OPEN: {Study.State.PAUSED, Study.State.CLOSED},
    Study.State.PAUSED: {Study.State.OPEN, Study.State.CLOSED},
    Study.State.CLOSED: {Study.State.OPEN},
}


@transaction.atomic
def set_state(*, study_id: int, state: str, user: User | None = None) -> Study:
    """Open, pause or close a study; setting its current state changes nothing."""
    study = lock_study(study_id)
    if study.state == state:
        return study
    if study.archived_at is not None:
        raise StudyError("The study is archived. Take it out of the archive first.")
    if state not in _TRANSITIONS[Study.State(study.state)]:
        raise StudyError(f"A study that is {study.state} cannot become {state}.")
    record(study, "state", user=user, before=study.state, after=state)
    study.state = state
    study.version = F("version") + 1
    study.save(update_fields=["state", "version"])
    study.refresh_from_db()
    return study


class StateNote(NamedTuple):
    """What a change of state did elsewhere, or why that failed; one or two sentences."""

    text: str
    is_problem: bool = False


# Consequences of a change of state, such as stopping recruitment.
FOLLOWERS: Kind[Callable[[Study, User | None], StateNote | None]] = Kind("events", "state")


def change_state(
    *, study_id: int, state: str, user: User | None = None
) -> tuple[Study, list[StateNote]]:
    """Set the state, then do its consequences elsewhere; raises as `set_state` does.

    Setting the current state again repeats the consequences.
    """
    study = set_state(study_id=study_id, state=state, user=user)
    return study, [note for follower in FOLLOWERS if (note := follower(study, user))]


def freeze(study_id: int) -> None:
    """Fix wording, responses, personas and truth at the first answer; repeats change nothing.

    The first time, the conditional UPDATE waits for the holder of the study's lock, for example
    an import; later it matches nothing and takes no lock.
    """
    Study.objects.filter(pk=study_id, frozen_at=None).update(frozen_at=clock.now())


def keep_name(instance: User, **sent: Any) -> None:
    """Write the name of an account into the logs it is in, before the account is deleted."""
    rows = list(StudyLog.objects.filter(user=instance))
    for row in rows:
        row.detail = {"by": f"{instance.get_username()} (deleted account)"} | row.detail
    StudyLog.objects.bulk_update(rows, ["detail"], batch_size=500)


def record(study: Study, event: str, *, user: User | None = None, **detail: Any) -> StudyLog:
    """Write a row of the study's log."""
    return StudyLog.objects.create(study=study, user=user, event=event, detail=detail)


def mark_simulated(*, study_id: int, user: User | None = None) -> None:
    """Label a study that gets simulated people everywhere; it never recruits real ones."""
    if Study.objects.filter(pk=study_id, is_simulated=False).update(is_simulated=True):
        record(Study.objects.get(pk=study_id), "simulated people", user=user)


# The log event. Logs of existing studies contain this text; do not change it.
OPENED_DESPITE = "opened in spite of advice"


@dataclass(frozen=True)
class LaunchCheck:
    """One launch check and its outcome; `fix` is the address of the page that fixes it."""

    text: str
    is_open: bool
    blocks: bool = False
    fix: str = ""


@dataclass(frozen=True)
class LaunchChecks:
    """The launch checks of a study by their effect on opening."""

    blocking: list[LaunchCheck]
    advice: list[LaunchCheck]
    passed: list[LaunchCheck]


LAUNCH_CHECKS: Kind[Callable[[Study], list[LaunchCheck]]] = Kind("workbench", "launch_checks")


def registered_checks(study: Study) -> list[LaunchCheck]:
    """The checks for every way of recruiting; they may ask the servers of judges."""
    return [check for source in LAUNCH_CHECKS.of(study) for check in source(study)]


def sort_checks(checks: Sequence[LaunchCheck]) -> LaunchChecks:
    checks = [*dict.fromkeys(checks)]  # Several apps may find the same.
    still_open = [check for check in checks if check.is_open]
    return LaunchChecks(
        blocking=[check for check in still_open if check.blocks],
        advice=[check for check in still_open if not check.blocks],
        passed=[check for check in checks if not check.is_open],
    )


def open_draft(*, study: Study, reason: str, user: User) -> Study:
    """Open a draft for answers.

    Raises `OpeningRefused` if a check blocks, or if there is advice and no `reason`. The checks run
    before the transaction, because they ask servers.
    """
    checks = sort_checks(registered_checks(study))
    if checks.blocking:
        raise OpeningRefused("The study cannot be opened yet. Fix the blocking checks first.")
    if checks.advice and not reason:
        raise OpeningRefused("Say why you open the study despite the advice.")
    with transaction.atomic():
        opened = set_state(study_id=study.pk, state=Study.State.OPEN, user=user)
        if checks.advice:
            advice = [check.text for check in checks.advice]
            record(opened, OPENED_DESPITE, user=user, reason=reason, advice=advice)
    return opened


def opening_note(study: Study) -> StudyLog | None:
    """The log entry of an opening despite advice, with its reason; None if there is none."""
    return study.log.filter(event=OPENED_DESPITE).select_related("user").first()


SHORTEST_REASON = 10
CONFIRMED, FORBIDDEN = "confirmed", "forbidden"
_NO_REASON = (
    f"Write the reason in at least {SHORTEST_REASON} letters, for example “Approved by the data "
    "owner on 3 May”."
)


def forbids_providers(study: Study) -> bool:
    """Whether the items must not be sent to a provider now."""
    decision = study.sharing.get("providers", "")
    if decision == CONFIRMED and study.sharing.get("terms") == terms_of(study):
        return False
    return decision == FORBIDDEN or is_forbidden_by_source(study)


def is_forbidden_by_source(study: Study) -> bool:
    """Whether the recorded terms of the items' source forbid it."""
    return study.source.get("redistribution") == "forbidden"


def terms_of(study: Study) -> dict[str, Any]:
    """The recorded terms of the items' source."""
    return {name: study.source.get(name, "") for name in ("licence", "redistribution")}


@transaction.atomic
def confirm_providers(*, study_id: int, reason: str, by: User | None = None) -> None:
    """Allow items to be sent to providers. Raises `StudyError` without a reason."""
    reason = reason.strip()
    if len(reason) < SHORTEST_REASON:
        raise StudyError(_NO_REASON)
    study = lock_study(study_id)
    _decide(study, CONFIRMED, by, reason=reason, terms=terms_of(study))


@transaction.atomic
def forbid_providers(*, study_id: int, by: User | None = None) -> None:
    """Forbid it from now on, also for running runs."""
    _decide(lock_study(study_id), FORBIDDEN, by)


@transaction.atomic
def follow_source(*, study_id: int, by: User | None = None) -> None:
    """Remove the owner's decision: the terms of the source apply."""
    study = lock_study(study_id)
    study.sharing = {}
    study.save(update_fields=["sharing"])
    record(study, "sharing with providers: as the source says", user=by)


def _decide(study: Study, decision: str, by: User | None, **more: Any) -> None:
    study.sharing = {
        "providers": decision,
        "by": by.get_username() if by else "",
        "at": clock.now().isoformat(),
        **more,
    }
    study.save(update_fields=["sharing"])
    record(study, f"sharing with providers {decision}", user=by, **more)
