"""The editor of quota groups: choose questions, fill the grid of their groups, save it."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import prod
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation.errors import QuotaError
from annotation.prolific.api.transport import ProlificError
from annotation.prolific.launch.launch import balance_by_groups, may_balance
from annotation.seats.capacity import SeatCapacity, places_of, shared_out
from annotation.seats.quotas import (
    Quota,
    QuotaQuestion,
    have_entered,
    questions_of,
    seen_plan,
    set_quotas,
)
from annotation.seats.ready_questions import NAMES
from studies.errors import StaleVersion
from studies.models import Membership, Study
from studies.money import format_money
from studies.pages.responses import REFUSED, whole_number
from studies.selectors import get_study

MOST_CELLS = 200
MOST_PLACES = 10_000

Values = tuple[str, ...]

_WOMEN = {"woman", "women", "female", "frau", "weiblich"}
_MEN = {"man", "men", "male", "mann", "männlich"}
_SMALL = {"no formal education"}


@dataclass(frozen=True)
class QuotaCell:
    """A group of the grid: the name of its field, the typed text, and its label."""

    name: str
    text: str
    label: str


@dataclass(frozen=True)
class GridLine:
    label: str
    cells: tuple[QuotaCell, ...]
    total: int


@dataclass(frozen=True)
class QuotaTable:
    """The last question gives the columns, the others the rows."""

    questions: tuple[QuotaQuestion, ...]
    corner: str
    columns: tuple[str, ...]
    lines: tuple[GridLine, ...]
    column_totals: tuple[int, ...]
    total: int


def combinations(questions: Sequence[QuotaQuestion]) -> list[Values]:
    """Every group that the questions make, in order; `QuotaError` for too many."""
    number = math.prod(len(question.options) for question in questions)
    if number > MOST_CELLS:
        raise QuotaError(
            f"These questions make {number:,} groups, and {MOST_CELLS} are possible. Choose fewer "
            "questions."
        )
    return list(itertools.product(*(question.options for question in questions)))


def small_options(question: QuotaQuestion) -> list[str]:
    """The values of groups that are known to be too small for equal numbers.

    These are genders other than woman and man, one or two adults in a hundred, and people without
    formal education.
    """
    names = {
        value: {value.casefold(), label.casefold()} for value, label in question.options.items()
    }
    is_gender = all(
        any(words & name_words for name_words in names.values()) for words in (_WOMEN, _MEN)
    )
    return [
        value
        for value, name_words in names.items()
        if (is_gender and not name_words & (_WOMEN | _MEN)) or name_words & _SMALL
    ]


def evenly(
    total: int, questions: Sequence[QuotaQuestion], typed: Mapping[Values, str]
) -> dict[Values, str]:
    """`total` in equal parts for the chosen groups: those whose field is not empty.

    If every field is empty, all groups are chosen except small ones. Those keep the number typed
    for them.
    """
    small = [small_options(question) for question in questions]
    is_small = {
        values: any(value in few for value, few in zip(values, small, strict=True))
        for values in typed
    }
    chosen = [values for values, text in typed.items() if text and not is_small[values]]
    chosen = chosen or [values for values in typed if not is_small[values]] or list(typed)
    kept = {values: text for values, text in typed.items() if is_small[values]}
    left = max(0, total - sum(whole_number(text, most=MOST_PLACES) or 0 for text in kept.values()))
    parts = shared_out(left, [Fraction(1)] * len(chosen))
    return dict.fromkeys(typed, "") | kept | dict(zip(chosen, map(str, parts), strict=True))


def field_name(number: int) -> str:
    return f"target-{number}"


def make_grid(questions: Sequence[QuotaQuestion], texts: Mapping[Values, str]) -> QuotaTable:
    """The grid to show; cells without a number count as 0 in its totals."""
    cells = combinations(questions)
    *rows, last = questions
    across = list(last.options.values()) if rows else []
    width = len(across) or 1
    fields = [
        QuotaCell(field_name(number), texts.get(values, ""), label_of(questions, values))
        for number, values in enumerate(cells)
    ]
    lines = []
    for start in range(0, len(fields), width):
        part = tuple(fields[start : start + width])
        head = questions[:-1] if rows else questions
        lines.append(GridLine(label_of(head, cells[start]), part, sum(map(_count, part))))
    return QuotaTable(
        tuple(questions),
        " × ".join(question.label for question in rows) or last.label,
        tuple(across),
        tuple(lines),
        tuple(sum(_count(line.cells[n]) for line in lines) for n in range(len(across))),
        sum(line.total for line in lines),
    )


def label_of(questions: Sequence[QuotaQuestion], values: Values) -> str:
    """The label of a group; it need not name every question."""
    pairs = zip(questions, values, strict=False)
    return ", ".join(question.options[value] for question, value in pairs)


def _count(cell: QuotaCell) -> int:
    return whole_number(cell.text, most=MOST_PLACES) or 0


def read_targets(questions: Sequence[QuotaQuestion], texts: Mapping[Values, str]) -> list[Quota]:
    """The groups of the filled cells; `QuotaError` names a cell without a valid number."""
    keys = [question.key for question in questions]
    groups = []
    for values, text in texts.items():
        if not text:
            continue
        target = read_target(text, label_of(questions, values))
        groups.append(Quota(target, dict(zip(keys, values, strict=True))))
    return groups


def read_target(text: str, label: str) -> int:
    target = whole_number(text, most=MOST_PLACES)
    if target is None:
        raise QuotaError(
            f"{label}: “{text[:40]}” is not a number of annotators. Enter a whole number from 0 to "
            f"{MOST_PLACES:,}, or leave the field empty for no such group."
        )
    return target


_ELSE = "everyone-else"


@require_http_methods(["GET", "POST"])
@login_required
def quota(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the grid; buttons fill it or add it up, and only “Save quota” stores it."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    if have_entered(study):
        messages.info(
            request,
            "Annotators have entered, so the quota groups are fixed. You can only increase them, "
            "here.",
        )
        return redirect("people:places", slug)
    seen = seen_plan(study)  # Read before the rest, so that a later change is noticed.
    asked = questions_of(study)
    chosen = _chosen(request, study, asked)
    fault, texts, everyone_else = "", _stored_texts(study, chosen), _stored_rest(study)
    capacity = places_of(study)
    if not texts:
        texts = evenly(capacity.people, chosen, _no_texts(chosen))
    if request.method == "POST":
        action = request.POST.get("do", "save")
        everyone_else = request.POST.get(_ELSE, "").strip()
        now, seen = seen, request.POST.get("seen", seen)
        try:
            texts = _filled(request, action, chosen, capacity)
            if action in ("save", "remove"):
                return _save(request, study, chosen if action == "save" else [], texts)
        except QuotaError as error:
            fault, texts = str(error), _typed(request, chosen)
        except StaleVersion as error:
            fault, seen = str(error), now
    context = {
        "study": study,
        "asked": [(question, question in chosen) for question in asked],
        "chosen": chosen,
        "seen": seen,
        "without_places": _without_places(chosen, texts),
        "fault": fault,
        "has_groups": study.quota_groups.exists(),
        "ready": NAMES.items(),
        "may_balance": may_balance(study),
        "balances": request.POST.get("balance") == "yes" if request.method == "POST" else True,
        "everyone_else": everyone_else,
        **_grid(request, chosen, texts),
        **_sums(study, capacity, texts, everyone_else),
    }
    status = REFUSED if context["fault"] else 200
    return render(request, "annotation/researcher/setup/quota.html", context, status=status)


def _chosen(
    request: HttpRequest, study: Study, asked: Sequence[QuotaQuestion]
) -> list[QuotaQuestion]:
    """The questions of the grid: the requested ones, otherwise those of the stored groups."""
    sent = request.POST if request.method == "POST" else request.GET
    names = set(sent.getlist("q"))
    if not names and "choose" not in sent:
        names = {key for group in study.quota_groups.all() for key in group.criteria}
        # A study with one question has only one grid.
        names = names or {question.key for question in asked if len(asked) == 1}
    return [question for question in asked if question.key in names]


def _stored_texts(study: Study, chosen: Sequence[QuotaQuestion]) -> dict[Values, str]:
    keys = [question.key for question in chosen]
    stored = {
        tuple(group.criteria[key] for key in keys): str(group.target)
        for group in study.quota_groups.all()
        if set(group.criteria) == set(keys) and keys
    }
    return stored


def _no_texts(chosen: Sequence[QuotaQuestion]) -> dict[Values, str]:
    """An empty field for every group of the grid; nothing for too many groups."""
    try:
        return dict.fromkeys(combinations(chosen), "") if chosen else {}
    except QuotaError:
        return {}


def _without_places(chosen: Sequence[QuotaQuestion], texts: Mapping[Values, str]) -> list[str]:
    """The options whose groups have no places."""
    return [
        label
        for number, question in enumerate(chosen)
        for value, label in question.options.items()
        if not any(
            text not in ("", "0") for values, text in texts.items() if values[number] == value
        )
    ]


def _stored_rest(study: Study) -> str:
    rest = study.quota_groups.filter(is_everyone_else=True).first()
    return "" if rest is None else str(rest.target)


def _typed(request: HttpRequest, chosen: Sequence[QuotaQuestion]) -> dict[Values, str]:
    return {
        values: request.POST.get(field_name(number), "").strip()
        for number, values in enumerate(_no_texts(chosen))
    }


def _filled(
    request: HttpRequest, action: str, chosen: Sequence[QuotaQuestion], capacity: SeatCapacity
) -> dict[Values, str]:
    """The cells after a button that fills them; other buttons keep the typed texts."""
    texts = _typed(request, chosen)
    cells = list(texts)
    if action == "same":
        target = read_target(request.POST.get("each", "").strip(), "Annotators in each group")
        return dict.fromkeys(cells, str(target))
    if action not in ("even", "shares"):
        return texts
    typed = request.POST.get("total", "").strip()
    total = read_target(typed or str(capacity.people), "Annotators in total")
    # “In total” includes everyone else, so that a full quota has the requested number.
    rest = whole_number(request.POST.get(_ELSE, "").strip(), most=MOST_PLACES) or 0
    total = max(0, total - rest)
    if action == "even":
        return evenly(total, chosen, texts)
    shares = [_shares(request, question) for question in chosen]
    weights = [prod(map(dict.__getitem__, shares, values), start=Fraction(1)) for values in cells]
    numbers = shared_out(total, weights)
    return dict(zip(cells, map(str, numbers), strict=True))


def _shares(request: HttpRequest, question: QuotaQuestion) -> dict[str, Fraction]:
    shares = {}
    for number, (value, label) in enumerate(question.options.items()):
        text = request.POST.get(f"share-{question.key}-{number}", "").strip()
        shares[value] = _share(text, label)
    if not any(shares.values()):
        raise QuotaError(f"Enter the shares of “{question.label}” first, for example 50 and 50.")
    return shares


def _share(text: str, label: str) -> Fraction:
    text = text.removesuffix("%").strip().replace(",", ".")
    if not text:
        return Fraction(0)
    try:
        share = Decimal(text)
    except InvalidOperation:
        share = Decimal(-1)
    if not share.is_finite() or not 0 <= share <= 1_000_000:
        raise QuotaError(
            f"{label}: “{text[:40]}” is not a share. Enter a number such as 50 or 12.5."
        )
    return Fraction(share)


def _save(
    request: HttpRequest,
    study: Study,
    chosen: Sequence[QuotaQuestion],
    texts: Mapping[Values, str],
) -> HttpResponse:
    groups: list[Quota] = read_targets(chosen, texts) if chosen else []
    rest = request.POST.get(_ELSE, "").strip()
    if chosen and rest:
        groups.append(Quota(read_target(rest, "Everyone else")))
    if chosen and not groups:
        raise QuotaError("The grid is empty. Enter a number of annotators in at least one field.")
    set_quotas(
        study_id=study.pk,
        groups=groups,
        seen=request.POST.get("seen"),
        user=cast(User, request.user),
    )
    if groups and request.POST.get("balance") == "yes" and may_balance(study):
        _balance(request, study)
    places = sum(group.target for group in groups)
    messages.success(
        request,
        f"Quota saved: {len(groups):,} groups for {places:,} annotators."
        if groups
        else "Quota removed. Annotators join in the order they arrive.",
    )
    return redirect("people:quota", study.slug)


def _balance(request: HttpRequest, study: Study) -> None:
    """Balance Prolific by the groups that were just saved, and say what it cannot balance."""
    try:
        left = balance_by_groups(study_id=study.pk, user=cast(User, request.user))
    except ProlificError as error:
        messages.error(request, str(error))
        return
    if left:
        messages.warning(
            request,
            f"Prolific is not balanced by {' or '.join(left)}. Choose a filter of Prolific for it "
            "in the launch plan, or people may come for full groups.",
        )


def _grid(
    request: HttpRequest, chosen: Sequence[QuotaQuestion], texts: Mapping[Values, str]
) -> dict[str, Any]:
    """The grid and the boxes for shares; for too many groups only the reason."""
    if not chosen:
        return {"grid": None}
    try:
        grid = make_grid(chosen, texts)
    except QuotaError as error:
        return {"grid": None, "fault": str(error)}
    shares = [
        (
            question,
            [
                (
                    f"share-{question.key}-{n}",
                    label,
                    request.POST.get(f"share-{question.key}-{n}", ""),
                )
                for n, label in enumerate(question.options.values())
            ],
        )
        for question in chosen
    ]
    typed = {name: request.POST.get(name, "") for name in ("total", "each")}
    return {"grid": grid, "shares": shares, "typed": typed}


def _sums(
    study: Study, capacity: SeatCapacity, texts: Mapping[Values, str], rest: str
) -> dict[str, Any]:
    """The annotators that the groups admit, those that the seats need, and their pay."""
    numbers = [int(text) for text in (*texts.values(), rest) if text.isascii() and text.isdigit()]
    total = sum(numbers)
    return {
        "total": total,
        "needed": capacity.people,
        "capacity": capacity,
        "missing": max(0, capacity.people - total),
        "beyond": max(0, total - capacity.people),
        "pay": format_money(total * study.reward, study.currency),
        "pay_each": format_money(study.reward, study.currency),
    }
