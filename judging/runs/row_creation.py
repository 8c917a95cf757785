"""Creates the judgments of a run: one row for every item, order and sample.

Of all judgments of a run with the same request, the first is asked. The others wait for it
(`Judgment.asked_with`), and their choices follow from its reply.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from django.db import connection
from django.db.models import QuerySet

from judging.bias.probe_choices import probe_choice
from judging.bias.probes import SIDES, Maker, own_sides, own_source
from judging.errors import BadRun, ConflictingValue, FailureReason
from judging.models import Judge, JudgeRun, Judgment, PromptTemplate
from judging.prompts.asking import Asking, tasks_of
from judging.protocols.protocol import Request
from judging.protocols.registry import protocol
from studies import personas as feature_sets
from studies.models import Item, Side, Study

_OTHER = {Side.R1: Side.R2, Side.R2: Side.R1}


class Orderable(Protocol):
    """The part of an item that decides its order."""

    @property
    def pk(self) -> int: ...
    @property
    def key(self) -> str: ...
    @property
    def first_person(self) -> str: ...
    @property
    def fixed_first(self) -> str: ...


def shown_first(
    items: Sequence[Orderable],
    *,
    orders: str,
    seed: int,
    drawn: Iterable[tuple[Orderable, str]] = (),
) -> dict[int, list[str]]:
    """Choose the side to show first for every item (by id).

    `random` draws by a hash of the seed and the item's key, balanced so that the right answer is
    side A in half of the items whose truth is known, and response 1 in half of the others. Orders
    that an earlier call drew are passed as `drawn` and count for the balance. Items with a fixed
    order keep it.
    """
    if orders != JudgeRun.Orders.RANDOM:
        every = {
            JudgeRun.Orders.BOTH: [Side.R1, Side.R2],
            JudgeRun.Orders.R1_FIRST: [Side.R1],
            JudgeRun.Orders.R2_FIRST: [Side.R2],
        }[JudgeRun.Orders(orders)]
        return {i.pk: [i.fixed_first] if i.fixed_first else [str(s) for s in every] for i in items}

    # The number of times, per stratum, that the reference side (truth or response 1) was first.
    balance = Counter[bool]()
    for item, first in drawn:
        if not item.fixed_first:
            balance[_has_truth(item)] += 1 if first == _reference(item) else -1
    chosen = {}
    for item in sorted(items, key=lambda item: _hash(seed, item.key)):
        if item.fixed_first:
            chosen[item.pk] = [str(item.fixed_first)]
            continue
        lead = balance[_has_truth(item)]
        # On a tie the hash decides, and the next item of the stratum restores the balance.
        reference_first = lead < 0 or (lead == 0 and _hash(seed, item.key)[-1] % 2 == 0)
        balance[_has_truth(item)] += 1 if reference_first else -1
        side = _reference(item) if reference_first else _OTHER[_reference(item)]
        chosen[item.pk] = [str(side)]
    return chosen


def _has_truth(item: Orderable) -> bool:
    return item.first_person in _OTHER


def _reference(item: Orderable) -> Side:
    return Side(item.first_person) if _has_truth(item) else Side.R1


def _hash(seed: int, key: str) -> bytes:
    return hashlib.blake2b(key.encode(), key=str(seed).encode()).digest()


_PORTION = 500


def share_requests(run: JudgeRun) -> None:
    """Let new judgments wait for the one with the same request, at creation."""
    rows = Judgment.objects.filter(run=run.pk, asked_with=None)
    rows = rows.exclude(state=Judgment.State.SKIPPED).order_by("pk")
    stored = list(rows.values_list("pk", "item_id", "shown_first", "sample"))
    places = protocol(run.setting).places(run, sorted({item for _, item, *_ in stored}))
    first: dict[Request, int] = {}
    waiting = []
    for pk, item, shown_first, sample in stored:
        request = places.request(item, shown_first, sample)
        if request is not None and first.setdefault(request, pk) != pk:
            waiting.append(Judgment(pk=pk, asked_with_id=first[request]))
    Judgment.objects.bulk_update(waiting, ["asked_with"], batch_size=_PORTION)


def count_requests(run: JudgeRun, rows: Sequence[tuple[int, str, int]]) -> int:
    """The number of requests that new judgments, by item, order and sample, would take."""
    there = Judgment.objects.filter(run=run.pk).exclude(state=Judgment.State.SKIPPED)
    stored = list(there.values_list("item_id", "shown_first", "sample")) if run.pk else []
    places = protocol(run.setting).places(run, sorted({item for item, *_ in (*rows, *stored)}))
    known = {places.request(*row) for row in stored}
    return len({places.request(*row) for row in rows} - known)


def requests_in(run: JudgeRun, states: Collection[str]) -> int:
    """The number of judgments of a run in some states that are asked themselves."""
    return Judgment.objects.filter(run=run.pk, state__in=states, asked_with=None).count()


_ROWS_AT_ONCE = 1000


class QuestionItem(NamedTuple):
    """The part of an item that decides its order, because a study can have 100,000 items."""

    pk: int
    key: str
    first_person: str
    fixed_first: str
    persona: int
    skipped: str  # the reason why it is not asked


class _JudgmentRow(NamedTuple):
    """The columns in which the judgments of a run differ when they are created."""

    item_id: int
    shown_first: str
    sample: int
    state: str
    error: str


def create_judgments(
    run: JudgeRun,
    limit: int | None,
    *,
    questions: list[QuestionItem] | None = None,
    is_new: bool = False,
) -> int:
    """Create missing judgments and return how many; existing ones stay unchanged.

    `questions` are what `questions_of_study` found, for a judge without sources of its own; a run
    that `is_new` has no judgments. Raises `BadRun` if the study has no items.
    """
    created, rows = 0, _missing(run, limit, questions, is_new=is_new)
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        _insert(run, some)
        created += len(some)
    return created


def missing_judgments(run: JudgeRun, limit: int | None) -> list[Judgment]:
    """The unstored judgments that `create_judgments` would create, also for an unstored run."""
    return [Judgment(**row._asdict()) for row in _missing(run, limit)]


def count_missing(run: JudgeRun, limit: int | None, *, sides: int | None = None) -> int:
    """The number of questions that missing judgments take; `sides` is what `count_sides` found."""
    asking = Asking.of(run)
    if run.judge.own_sources or not asking.asks_all:
        asked = [row for row in _missing(run, limit) if row.state == Judgment.State.PENDING]
        if asking.protocol.shares_requests:
            return count_requests(run, [row[:3] for row in asked])
        return len(asked)
    if sides is None:
        sides = count_sides(run.study, limit, run.orders)
    wanted = sides * run.samples
    if run.pk is None:
        return wanted
    items = Item.objects.filter(pk__in=chosen_items(run.study, limit).values("pk"))
    there = Judgment.objects.filter(run=run.pk, item__in=items, sample__lte=run.samples)
    return wanted - there.count()


def count_sides(study: Study, limit: int | None, orders: str) -> int:
    """The number of items, each as often as it is shown in another order."""
    items = Item.objects.filter(pk__in=chosen_items(study, limit).values("pk"))
    again = items.filter(fixed_first="").count() if orders == JudgeRun.Orders.BOTH else 0
    return items.count() + again


def chosen_items(study: Study, limit: int | None) -> QuerySet[Item]:
    """The items of a run: all main items, or the first by key."""
    return Item.objects.filter(study=study).order_by("key")[:limit]


def questions_of_study(study: Study, limit: int | None) -> list[QuestionItem]:
    """The items that a judge without sources of its own is asked about."""
    return _questions(chosen_items(study, limit), ())


def _missing(
    run: JudgeRun,
    limit: int | None,
    questions: list[QuestionItem] | None = None,
    *,
    is_new: bool = False,
) -> Iterator[_JudgmentRow]:
    """The rows that a run, stored or not, lacks, grouped by persona."""
    own = {source.casefold() for source in run.judge.own_sources}
    asking = Asking.of(run)
    if questions is None or own or not asking.asks_all:
        items = chosen_items(run.study, limit)
        among = None if questions is None else {question.pk for question in questions}
        questions = _questions(
            items,
            own,
            asking.why_not(items),
            about_own=probe_choice(run.bias_probe).asks_own,
            more_makers=asking.protocol.more_makers,
        )
        if among is not None:
            questions = [question for question in questions if question.pk in among]
    if not questions:
        raise BadRun(f"Study “{run.study.slug}” has no items to judge. Import some first.")
    there = {} if is_new else _asked(run)
    # An item keeps its drawn order; a run extended from one order to both asks the other.
    is_drawn = run.orders == JudgeRun.Orders.RANDOM
    new = [question for question in questions if not (is_drawn and question.pk in there)]
    if asking.protocol.shares_requests:
        places = asking.protocol.places(run, [question.pk for question in new])
        orders = {question.pk: places.sides(question.pk) for question in new}
    else:
        drawn = _drawn(run, there) if is_drawn and new else []
        orders = shown_first(new, orders=run.orders, seed=run.seed, drawn=drawn)
    for question in _by_persona(questions):
        had = there.get(question.pk, frozenset())
        sides = orders.get(question.pk) or sorted({side for side, _ in had})
        state = Judgment.State.SKIPPED if question.skipped else Judgment.State.PENDING
        for sample in range(1, run.samples + 1):
            for first in sides:
                if (first, sample) not in had:
                    yield _JudgmentRow(question.pk, first, sample, state.value, question.skipped)


def _by_persona(questions: Sequence[QuestionItem]) -> list[QuestionItem]:
    """Items in the order of their keys, those of one persona together.

    Prompts start with the persona, so a server with a prefix cache reads it once.
    """
    first: dict[int, int] = {}
    for question in questions:
        first.setdefault(question.persona, len(first))
    return sorted(questions, key=lambda question: first[question.persona])


def _questions(
    items: QuerySet[Item],
    own: Collection[str],
    not_asked: Mapping[int, str] = MappingProxyType({}),
    *,
    about_own: bool = False,
    more_makers: str = "",
) -> list[QuestionItem]:
    """`own` are the judge's own sources, `not_asked` reasons why items are not asked, by id.

    With `about_own`, items with one response of the judge's own are asked, instead of all others.
    `more_makers` names the field of more responses that the judge is shown.
    """
    why_not = _not_one_own if about_own else _own_response
    read = ["pk", "key", "first_person", "fixed_first", "persona_id"]
    if own:
        read += ["r1__generated_by", "r2__generated_by"]
        read += [more_makers] if more_makers else []
    return [
        QuestionItem(pk, key, label, fixed, persona, why_not(sources, own) or not_asked.get(pk, ""))
        for pk, key, label, fixed, persona, *sources in items.values_list(*read).iterator()
    ]


def _own_response(makers: Sequence[Any], own: Collection[str]) -> str:
    """The reason why the judge must not judge an item: it, or its family, wrote a response.

    `makers` are those of r1 and r2, then other responses if the judge sees them.
    """
    named: list[tuple[str, Maker]] = list(zip(SIDES, makers[:2], strict=False))
    for response in (makers[2] or ()) if len(makers) > 2 else ():
        named.append((f"{response['place']} of the set", response["generated_by"]))
    for side, maker in named:
        if match := own_source(maker, own):
            key, value = match
            return f"Response {side} comes from the judge's own {key}, {value}."
    return ""


def _not_one_own(makers: Sequence[Maker], own: Collection[str]) -> str:
    """Why an item does not compare one of the judge's own responses with another."""
    sides = own_sides(makers, own)
    if len(sides) == 1:
        return ""
    return "Both responses are the judge's own." if sides else "No response is the judge's own."


_Asked = dict[int, frozenset[tuple[str, int]]]


def _asked(run: JudgeRun) -> _Asked:
    """Orders and samples that a run has, by item; items with the same ones share one set."""
    there: _Asked = {}
    sets: dict[frozenset[tuple[str, int]], frozenset[tuple[str, int]]] = {}
    rows = Judgment.objects.filter(run=run.pk).values_list("item_id", "shown_first", "sample")
    for item, first, sample in rows.iterator():
        had = there.get(item, frozenset()) | {(first, sample)}
        there[item] = sets.setdefault(had, had)
    return there


def _drawn(run: JudgeRun, there: _Asked) -> Iterator[tuple[QuestionItem, str]]:
    asked = Judgment.objects.filter(run=run.pk)
    items = Item.objects.filter(study=run.study_id, pk__in=asked.values("item"))
    for question in _questions(items, ()):
        for first in {side for side, _ in there[question.pk]}:
            yield question, first


def _insert(run: JudgeRun, rows: Sequence[_JudgmentRow]) -> None:
    """Insert judgments, in order, that are equal except for these columns.

    Nothing is asked before they are stored, and `bulk_create` takes several times as long, because
    it prepares every value of every row separately.
    """
    differ = _JudgmentRow._fields
    blank = Judgment(run=run)
    alike = {
        str(field.column): field.get_db_prep_save(field.pre_save(blank, add=True), connection)
        for field in Judgment._meta.concrete_fields
        if not field.primary_key and field.column not in differ
    }
    columns = ", ".join([*differ, *alike])
    row = f"({', '.join(['%s'] * len(differ))})"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO judging_judgment ({columns})"  # noqa: S608 - names of columns
            f" SELECT v.*, {', '.join(['%s'] * len(alike))}"
            f" FROM (VALUES {', '.join([row] * len(rows))}) AS v",
            [*alike.values(), *(value for row in rows for value in row)],
        )


_NO_WORDING = FailureReason(
    "no_wording", "{field}: this study has no wording “{value}”. Write name or name@version."
)


class RunStudyFacts:
    """Facts of a study, each read when it is first needed.

    They are not refreshed, so use them for one estimate, or while the study is locked. With
    `items`, by their ids, a run asks about no others.
    """

    def __init__(self, study: Study, items: Collection[int] | None = None) -> None:
        self.study = study
        self._items = items
        self._judges: dict[int, Judge] = {}
        self._wordings: dict[int, PromptTemplate] = {}
        self._questions: dict[int | None, list[QuestionItem]] = {}

    @cached_property
    def feature_keys(self) -> set[str]:
        return feature_sets.known_keys(self.study)

    @cached_property
    def feature_sets(self) -> dict[str, list[str]]:
        return feature_sets.own_sets(self.study)

    @cached_property
    def tasks(self) -> list[str]:
        return tasks_of(self.study)

    @cached_property
    def run_keys(self) -> set[str]:
        """The keys of all runs, to which each new run adds its own."""
        return set(JudgeRun.objects.filter(study=self.study).values_list("key", flat=True))

    def wording(self, pk: int | None) -> PromptTemplate | None:
        """The study's own wording with this id. Raises `BadRun` if it has none."""
        if pk is None:
            return None
        if pk not in self._wordings:
            template = PromptTemplate.objects.filter(study=self.study, pk=pk).first()
            if template is None:
                raise BadRun(f"Study “{self.study.slug}” has no such wording.")
            self._wordings[pk] = template
        return self._wordings[pk]

    def wording_named(self, name: str) -> int | None:
        """The id of a wording, given as "name" or "name@version"; the latest version if none is.

        None for an empty name. Raises `ConflictingValue` if there is none of this name.
        """
        if not name:
            return None
        stem, _, version = name.partition("@")
        templates = PromptTemplate.objects.filter(study=self.study, name=stem)
        if version:
            templates = templates.filter(version=int(version) if version.isdecimal() else 0)
        template = templates.order_by("version").last()
        if template is None:
            raise ConflictingValue("wording", _NO_WORDING, value=name)
        self._wordings[template.pk] = template
        return template.pk

    def judge(self, pk: int) -> Judge:
        if pk not in self._judges:
            self._judges[pk] = Judge.objects.get(pk=pk)
        return self._judges[pk]

    def questions(self, limit: int | None) -> list[QuestionItem]:
        """The items of a run whose judge asks about all of them."""
        if limit not in self._questions:
            items, among = questions_of_study(self.study, limit), self._items
            if among is not None:
                items = [question for question in items if question.pk in among]
            self._questions[limit] = items
        return self._questions[limit]
