"""What annotators and recruitment add to the pages of a study."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from django.db.models import Count, F, Max, Sum
from django.db.models.functions import Coalesce
from django.urls import reverse

from annotation.content.comprehension import unfair_checks
from annotation.content.consent_versions import promised, sum_in_words
from annotation.models import (
    Annotation,
    Annotator,
    BonusPayment,
    ProlificReservation,
    ProlificSubmission,
    QuotaGroup,
    Recruitment,
)
from annotation.prolific.api import types
from annotation.prolific.api.client import client_with
from annotation.prolific.api.credentials import credentials_in
from annotation.prolific.api.transport import NotConfigured
from annotation.prolific.launch.launch import plan_of
from annotation.prolific.launch.plan_words import who_is_asked
from annotation.prolific.launch.shares import places_of
from annotation.quality import RULES, quality_of
from annotation.researchers.recruitment_needs import recruitment_needs
from annotation.researchers.selectors import (
    Coverage,
    coverage,
    funnel,
    quota_grid,
    seconds_of_an_item,
)
from annotation.seats.capacity import SeatCapacity, named_groups, people_for
from annotation.seats.capacity import places_of as places_in
from studies.models import Item, Study
from studies.money import sums_in_words
from studies.pages.listing import study_figures
from studies.pages.workbench import (
    ListCell,
    Mark,
    MonitorCard,
    Need,
    SectionPage,
    SetupTask,
    TaskState,
    once,
)
from studies.statements.kept_figures import kept

# Only the annotators who ended last are checked for flags, as many as a usual study has.
_LAST_ENDED = 60
# As long as these are the same annotators, only other people's answers can change their flags.
_FLAGS_SECONDS = 60
_MOST_GROUPS, _MOST_COLUMNS = 6, 3


def annotators_mark(study: Study) -> list[Mark]:
    people = kept(
        "navigation-annotators",
        study.pk,
        count=lambda: Annotator.objects.filter(study=study).count(),
        rows=int,
    )
    waiting = once(study, "to approve", lambda: to_approve(study))
    return [Mark("annotators", people, f"{waiting:,} to approve" if waiting else "")]


def to_approve(study: Study) -> int:
    """Submissions on Prolific that await a decision; none for other studies."""
    if study.entry != Study.Entry.PROLIFIC:
        return 0
    return ProlificSubmission.objects.filter(
        prolific_study__study=study, status=types.AWAITING_REVIEW, approval_asked_at=None
    ).count()


# Title and name of each page of the section; Prolific pages only if the study recruits there.
_PAGES = (
    ("Texts", "people:texts"),
    ("Checks", "people:checks"),
    ("Places and quota", "people:places"),
    ("Codes", "people:codes"),
)
_PROLIFIC = (
    ("Prolific", "people:prolific"),
    ("Approve and pay", "people:prolific-settle"),
)
# Pages about people who have taken part.
_LATER = ("people:codes", "people:prolific-settle")
_LIST = (("Invitations", "people:invitations"),)


def annotator_pages(study: Study) -> list[SectionPage]:
    platform = {Study.Entry.PROLIFIC: _PROLIFIC, Study.Entry.LIST: _LIST}
    everyone, preview, faulty = (
        reverse(f"people:{name}", args=[study.slug]) for name in ("list", "preview", "faulty-items")
    )
    own = [
        SectionPage("annotators", "All annotators", everyone),
        SectionPage("annotators", "Preview", preview, once="items"),
        SectionPage("items", "Faulty items", faulty, for_editors=True, once="items"),
    ]
    pages = (*_PAGES, *platform.get(Study.Entry(study.entry), ()))
    return own + [
        SectionPage(
            "annotators",
            title,
            reverse(name, args=[study.slug]),
            for_editors=True,
            once="annotators" if name in _LATER else "",
        )
        for title, name in pages
    ]


def annotator_cards(study: Study) -> list[MonitorCard]:
    covered, grid, arrived = _coverage(study), quota_grid(study), funnel(study)
    answers = {
        "coverage": covered,
        "working": arrived.now,
        "seconds": seconds_of_an_item(study),
    }
    quota = {
        "grid": grid,
        "most": _MOST_GROUPS,
        "is_narrow": grid is not None and len(grid.columns) <= _MOST_COLUMNS,
    }
    folder = "annotation/researcher/monitor"
    return [
        MonitorCard("answers", f"{folder}/answers.html", answers),
        MonitorCard("quota", f"{folder}/quota.html", quota),
        MonitorCard("funnel", f"{folder}/funnel.html", {"funnel": arrived, "coverage": covered}),
        MonitorCard("coverage", f"{folder}/coverage.html", answers),
        MonitorCard("money", f"{folder}/money.html", _money(study)),
    ]


def _coverage(study: Study) -> Coverage:
    return once(study, "coverage", lambda: coverage(study))


def _money(study: Study) -> dict[str, str | int]:
    """Pay so far and at most: on Prolific from our records, elsewhere by completions."""
    if study.entry != Study.Entry.PROLIFIC:
        counts = promised([study])[study.pk]
        return {"people": counts.total(), "pay": sum_in_words(counts, study.currency)}
    approved = ProlificSubmission.objects.filter(
        prolific_study__study=study, status=types.APPROVED
    ).annotate(n=F("prolific_study__reward"))
    reserved = ProlificReservation.objects.filter(prolific_study__study=study).annotate(
        n=F("rewards") + Coalesce("fees", 0)
    )
    bonuses = BonusPayment.objects.filter(
        prolific_study__study=study,
        state__in=[BonusPayment.State.SENT, BonusPayment.State.PAID],
    ).annotate(n=F("total"))
    sums = {"approved": approved, "bonuses": bonuses, "reserved": reserved}
    return {
        name: sums_in_words(
            (
                (named or study.currency, n)
                for named, n in amount.order_by()
                .values_list("prolific_study__currency")
                .annotate(sum=Sum("n"))
            ),
            study.currency,
        )
        for name, amount in sums.items()
    }


def annotator_needs(study: Study) -> Iterator[Need]:
    if waiting := once(study, "to approve", lambda: to_approve(study)):
        words = "1 submission waits" if waiting == 1 else f"{waiting:,} submissions wait"
        address = reverse("people:prolific-settle", args=[study.slug])
        yield Need(f"{words} for approval and pay.", address, "Approve and pay", is_urgent=True)
    yield from recruitment_needs(study, items=lambda: _coverage(study).items)
    yield from _quota_needs(study)
    yield from _flag_needs(study)


def _quota_needs(study: Study) -> Iterator[Need]:
    groups = [group for group in study.quota_groups.all() if group.target]
    full = sum(group.completed >= group.target for group in groups)
    if 0 < full < len(groups):
        left = {
            str(group): group.target - group.completed
            for group in groups
            if group.target > group.completed
        }
        number = sum(left.values())
        words = (
            f"{full:,} of {len(groups):,} quota groups {'is' if full == 1 else 'are'} full. "
            f"{number:,} place{' is' if number == 1 else 's are'} open for "
            f"{named_groups(list(left.items()))}."
        )
        yield Need(words, reverse("people:places", args=[study.slug]), "Places and quota")


def _flag_needs(study: Study) -> Iterator[Need]:
    ended = _ended_last(study)
    rules = kept(
        "monitor-flags",
        ended,
        count=lambda: _flags(study, ended),
        rows=lambda _: _coverage(study).items,
        seconds=_FLAGS_SECONDS,
    )
    if not rules:
        return
    people = rules.pop("any")
    words = ", ".join(f"{RULES[rule].lower()} {count:,}" for rule, count in rules.most_common())
    subject = "1 annotator is flagged" if people == 1 else f"{people:,} annotators are flagged"
    address = f"{reverse('people:list', args=[study.slug])}?flag=any"
    yield Need(f"{subject}: {words}.", address, "Check flags", for_editors=False)


def _ended_last(study: Study) -> list[int]:
    """Those who completed last and are in the analysis."""
    ended = Annotator.objects.filter(
        study=study, state=Annotator.State.COMPLETED, excluded_at=None, is_imported=False
    ).order_by("-pk")
    return list(ended.values_list("pk", flat=True)[:_LAST_ENDED])


def _flags(study: Study, ended: list[int]) -> Counter[str]:
    """How many of these annotators have each flag, and any flag (“any”)."""
    states: Counter[str] = Counter()
    for figures in quality_of(study, ended).values():
        if figures.rules:
            states.update([*figures.rules, "any"])
    return states


def annotator_tasks(study: Study) -> Iterator[SetupTask]:
    yield _checks_task(study)
    yield _places_task(study)
    if study.entry == Study.Entry.PROLIFIC:
        yield _recruiting_task(study)


def _recruiting_task(study: Study) -> SetupTask:
    """Whether a token of Prolific is known, and how many places the launch plan asks for."""
    title = "Recruiting on Prolific"
    recruitment = Recruitment.objects.filter(study=study).select_related("prolific_account").first()
    try:
        client_with(credentials_in(recruitment.prolific_account if recruitment else None, study))
    except NotConfigured as error:
        address = reverse("people:prolific-accounts", args=[study.slug])
        return SetupTask("recruiting", title, TaskState.NOT_STARTED, str(error), address)
    plan = plan_of(study)
    places = places_of(plan, study)
    words = f"{places:,} place{'' if places == 1 else 's'}, {who_is_asked(plan)}"
    address = reverse("people:prolific-plan", args=[study.slug])
    return SetupTask("recruiting", title, TaskState.DONE, words, address)


def _checks_task(study: Study) -> SetupTask:
    address = reverse("people:checks", args=[study.slug])
    splits = Counter(
        Item.everything.filter(study=study)
        .exclude(split=Item.Split.MAIN)
        .values_list("split", flat=True)
    )
    practice, attention = splits[Item.Split.PRACTICE], splits[Item.Split.ATTENTION_CHECK]
    questions = study.comprehension_questions.count()
    numbers = {
        "practice item": practice,
        "comprehension question": questions,
        "attention check": attention,
    }
    words = ", ".join(f"{n:,} {what}{'' if n == 1 else 's'}" for what, n in numbers.items())
    title = "Checks: practice, comprehension, attention"
    if not practice + attention + questions:
        return SetupTask("checks", title, TaskState.NOT_STARTED, words, address)
    unfair = unfair_checks(study)
    state = TaskState.ATTENTION if unfair else TaskState.DONE
    return SetupTask("checks", title, state, unfair[0] if unfair else words, address)


def _places_task(study: Study) -> SetupTask:
    address = reverse("people:places", args=[study.slug])
    title = "Annotators and quota"
    figures = study_figures(study)
    if not figures.seats:
        words = "Import items first"
        return SetupTask("annotators", title, TaskState.NOT_STARTED, words, address)
    needed = people_for(study, items=figures.sampled, seats=figures.seats)
    targets = list(study.quota_groups.values_list("target", flat=True))
    each = min(study.items_per_annotator, figures.sampled)
    people = "1 annotator" if needed == 1 else f"{needed:,} annotators"
    words = f"{people} with {each} item{'' if each == 1 else 's'} each"
    if targets and sum(targets) != needed:
        words = f"{words}, but the quota groups have {sum(targets):,} places"
        return SetupTask("annotators", title, TaskState.ATTENTION, words, address)
    groups = f"{len(targets):,} quota groups" if targets else "no quota groups"
    return SetupTask("annotators", title, TaskState.DONE, f"{words}, {groups}", address)


def the_sum(study: Study) -> Iterator[MonitorCard]:
    """Seats, places and quota as one sum, for the launch page."""
    capacity = places_in(study)
    if capacity.seats:
        # Of a study under way, what is still open is compared.
        quota = capacity.room if capacity.taken else sum_of(capacity)
        is_even = capacity.items * study.annotations_per_item == capacity.seats
        context = {"study": study, "now": capacity, "quota": quota, "is_even": is_even}
        yield MonitorCard("sum", "annotation/researcher/_sum.html", context)


def sum_of(capacity: SeatCapacity) -> int:
    """The places of all quota groups together."""
    return sum(group.target for group in capacity.groups)


def imported_answers(studies: Sequence[Study]) -> dict[int, ListCell]:
    """How many answers were imported, for studies that ask nobody here."""
    numbers = kept(
        "imported-answers",
        *(study.pk for study in studies),
        count=lambda: dict(
            Annotation.objects.filter(
                assignment__annotator__study__in=studies, standing=Annotation.Standing.IMPORTED
            )
            .order_by()
            .values_list("assignment__annotator__study")
            .annotate(n=Count("pk"))
        ),
        rows=lambda counts: sum(counts.values()),
    )
    return {pk: ListCell(f"{n:,} imported") for pk, n in numbers.items()}


def quota_cells(studies: Sequence[Study]) -> dict[int, ListCell]:
    """Filled places of the quota groups, and submissions that await approval."""
    places = (
        QuotaGroup.objects.filter(study__in=studies)
        .order_by()
        .values_list("study")
        .annotate(done=Sum("completed"), places=Sum("target"))
    )
    waiting = dict(
        ProlificSubmission.objects.filter(
            prolific_study__study__in=studies,
            status=types.AWAITING_REVIEW,
            approval_asked_at=None,
        )
        .order_by()
        .values_list("prolific_study__study")
        .annotate(n=Count("pk"))
    )
    texts = {pk: f"{done:,} / {target:,}" for pk, done, target in places}
    return {
        pk: ListCell(texts.get(pk, ""), f"{waiting[pk]:,} to approve" if pk in waiting else "")
        for pk in {*texts, *waiting}
    }


def cost_cells(studies: Sequence[Study]) -> dict[int, ListCell]:
    """The pay of approved submissions, or of completions where no platform approves."""
    elsewhere = promised([own for own in studies if own.entry != Study.Entry.PROLIFIC])
    approved: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    for pk, currency, n in (
        ProlificSubmission.objects.filter(prolific_study__study__in=studies, status=types.APPROVED)
        .order_by()
        .values_list("prolific_study__study", "prolific_study__currency")
        .annotate(sum=Sum("prolific_study__reward"))
    ):
        approved[pk].append((currency, n))
    sums = {
        study.pk: sums_in_words(
            [(named or study.currency, n) for named, n in approved[study.pk]], study.currency
        )
        for study in studies
        if study.entry == Study.Entry.PROLIFIC and any(n for _, n in approved[study.pk])
    }
    sums |= {
        pk: sum_in_words(counts, "")
        for pk, counts in elsewhere.items()
        if any(promise.reward for promise in counts)
    }
    return {pk: ListCell(words) for pk, words in sums.items()}


def arrivals(studies: Sequence[Study]) -> dict[int, ListCell]:
    """When an annotator last arrived or ended."""
    rows = (
        Annotator.objects.filter(study__in=studies)
        .order_by()
        .values_list("study")
        .annotate(came=Max("created_at"), ended=Max("ended_at"))
    )
    return {pk: ListCell(when=max(filter(None, (came, ended)))) for pk, came, ended in rows}
