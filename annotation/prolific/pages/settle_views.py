"""Settling: approve, request returns, reject one at a time, pay bonuses."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.models import BonusPayment, ProlificSubmission
from annotation.prolific import money
from annotation.prolific.api.transport import NotAllowed, ProlificError
from annotation.prolific.api.types import APPROVED
from annotation.prolific.money import BonusLine, is_owner, why_not
from annotation.prolific.pages.views import UNPROCESSABLE, attempt, editor_page, show, user_of
from annotation.prolific.settle.decisions import (
    GROUNDS,
    LEAST_MESSAGE,
    approve,
    reject,
    request_returns,
)
from annotation.prolific.settle.proposals import (
    APPROVE,
    BONUS,
    NONE,
    PARTS,
    RETURN,
    REVIEW,
    SORTS,
    WAIT,
    SettlementRow,
    filtered_rows,
    settlement,
    sorted_rows,
)
from annotation.prolific.spending import Spending
from studies.models import Study
from studies.money import format_money, sums_in_words
from studies.pages.responses import whole_number


class RejectForm(forms.Form):
    category = forms.ChoiceField(
        choices=list(GROUNDS.items()),
        widget=forms.RadioSelect,
        label="Reason",
        error_messages={"required": "Choose a reason."},
    )
    message = forms.CharField(
        widget=forms.Textarea,
        min_length=LEAST_MESSAGE,
        max_length=2000,
        label="Message to the participant",
        help_text=f"At least {LEAST_MESSAGE} characters. Say what you asked for and what is "
        "missing.",
        error_messages={
            "required": "Write a message to the participant.",
            "min_length": f"Write at least {LEAST_MESSAGE} characters, not %(show_value)s.",
        },
    )


def _ids(sent: QueryDict) -> list[int]:
    """The selected submissions."""
    numbers = {whole_number(text) for text in sent.getlist("submission")}
    return sorted(number for number in numbers if number is not None)


def _people(number: int) -> str:
    return "1 participant" if number == 1 else f"{number:,} participants"


def _back(study: Study) -> HttpResponse:
    return redirect("people:prolific-settle", study.slug)


def _chosen(request: HttpRequest, study: Study) -> list[SettlementRow]:
    ids = set(_ids(request.POST))
    return [row for row in settlement(study).rows if row.submission.pk in ids]


def _bonus_text(study: Study, row: SettlementRow) -> str:
    """The proposed bonus, or the amount that Prolific shows as paid."""
    currency, _ = row.amount
    if row.bonus:
        return format_money(row.bonus, currency)
    paid = sum(row.submission.bonuses)
    return f"{format_money(paid, currency)} paid" if paid else ""


def _owner_context(request: HttpRequest, study: Study) -> dict[str, Any]:
    """Whether this user may decide about money, and the reason if not."""
    may_decide = is_owner(user_of(request), study)
    return {"may_decide": may_decide, "why_not": "" if may_decide else why_not(study)}


def _refused(request: HttpRequest, study: Study) -> HttpResponse | None:
    """Redirect users who are not owners to the list, with the reason."""
    if is_owner(user_of(request), study):
        return None
    messages.error(request, why_not(study))
    return _back(study)


_GROUPS = (
    ("Ready to approve", APPROVE),
    ("Needs review", REVIEW),
    ("Return suggested", RETURN),
    ("Bonus suggested", BONUS),
    ("In progress", WAIT),
    ("Decided", NONE),
)
_HEADERS = {
    "annotator": "Annotator",
    "": "State on Prolific",
    "here": "State here",
    "answers": "Answers",
    "time": "Active time",
    "bonus": "Bonus",
    "flags": "Reason and flags",
}


def _columns(sort: str) -> list[dict[str, str]]:
    """Headers of the tables; those that sort have the current order and the effect of a click."""
    columns = []
    for name, label in _HEADERS.items():
        if name not in SORTS:
            columns.append({"label": label})
            continue
        now = {name: "ascending", f"-{name}": "descending"}.get(sort, "none")
        then = name if now == "descending" else f"-{name}" if now == "ascending" else name
        columns.append({"label": label, "now": now, "then": then})
    return columns


def _rules_of(rows: Iterable[SettlementRow]) -> list[tuple[str, str]]:
    """The rules that flag somebody here, by name."""
    labels = {flag.rule: flag.label for row in rows for flag in (*row.flags, *row.notes)}
    return sorted(labels.items())


def _sums(study: Study, rows: Sequence[SettlementRow]) -> list[tuple[str, int, str]]:
    """What was approved, what waits and what bonuses are suggested: people and money."""
    parts = (
        ("Approved so far", [r for r in rows if r.submission.status == APPROVED], False),
        ("Ready to approve", [r for r in rows if r.action == APPROVE], False),
        ("Needs review", [r for r in rows if r.action == REVIEW], False),
        ("Suggested bonuses", [r for r in rows if r.bonus], True),
    )
    return [
        (
            title,
            len(some),
            sums_in_words(
                [(row.amount[0], row.bonus) if bonus else row.amount for row in some],
                study.currency,
            ),
        )
        for title, some, bonus in parts
    ]


@require_http_methods(["GET"])
@editor_page
def settle(request: HttpRequest, study: Study) -> HttpResponse:
    """All submissions, our data and Prolific's, with a proposal and its reason."""
    whole = settlement(study)
    chosen = {name: request.GET.get(name, "") for name in ("search", "flag", "sort")}
    rows = filtered_rows(whole.rows, search=chosen["search"].strip(), flag=chosen["flag"])
    rows = sorted_rows(rows, chosen["sort"])
    by_action: defaultdict[str, list[SettlementRow]] = defaultdict(list)
    for row in rows:
        by_action[row.action].append(row)
    told: defaultdict[int, list[str]] = defaultdict(list)
    for part in PARTS.of(study):
        for pk, words in part.words(study).items():
            told[pk].append(words)
    context = {
        "unknown": whole.unknown,
        **_owner_context(request, study),
        "anybody": bool(whole.rows),
        "parts": [(part.template, part.context(study)) for part in PARTS.of(study)],
        "chosen": chosen,
        "is_filtered": bool(chosen["search"] or chosen["flag"]),
        "rules": [("any", "any"), ("none", "none"), *_rules_of(whole.rows)],
        "columns": _columns(chosen["sort"]),
        "sums": _sums(study, whole.rows),
        "currency": study.currency,
        "groups": [
            (
                title,
                name,
                [
                    (row, _bonus_text(study, row), told[row.submission.pk])
                    for row in by_action[name]
                ],
                sums_in_words([row.amount for row in by_action[name]], study.currency)
                if name in (APPROVE, REVIEW)
                else "",
            )
            for title, name in _GROUPS
        ],
    }
    return show(request, study, "settle", context)


@require_http_methods(["POST"])
@editor_page
def approve_many(request: HttpRequest, study: Study) -> HttpResponse:
    """Approve the selected submissions after showing their number and cost."""
    if refused := _refused(request, study):
        return refused
    ids = _ids(request.POST)
    confirmed = whole_number(request.POST.get("confirmed", ""))
    if confirmed is not None:
        attempt(
            request,
            lambda: approve(
                study_id=study.pk,
                submission_ids=ids,
                confirmed=confirmed,
                user=user_of(request),
            ),
            str,
        )
        return _back(study)
    rows = [row for row in _chosen(request, study) if row.may_approve]
    if not rows:
        messages.error(request, "Select the submissions to approve.")
        return _back(study)
    context = {
        "heading": f"Approve {_people(len(rows))}",
        "rows": rows,
        "count": len(rows),
        "total": sums_in_words([row.approval for row in rows], study.currency),
        "owed_later": sum(row.amount[1] > row.approval[1] for row in rows),
        "unusual": [row for row in rows if row.action != APPROVE],
    }
    return show(request, study, "approve", context)


@require_http_methods(["POST"])
@editor_page
def ask_to_return(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask the selected participants to return, with the reason that the user wrote."""
    ids, reason = _ids(request.POST), request.POST.get("reason")
    if reason is not None and reason.strip():
        attempt(
            request,
            lambda: request_returns(
                study_id=study.pk, submission_ids=ids, reason=reason, user=user_of(request)
            ),
            lambda asked: f"Returns requested: {asked}.",
        )
        return _back(study)
    rows = [row for row in _chosen(request, study) if row.may_approve]
    if not rows:
        messages.error(request, "Select the submissions to return.")
        return _back(study)
    context = {
        "heading": f"Ask {_people(len(rows))} to return",
        "rows": rows,
        "is_empty": reason is not None,
    }
    status = UNPROCESSABLE if reason is not None else 200
    return show(request, study, "returns", context, status=status)


@require_http_methods(["GET", "POST"])
@editor_page
def reject_one(request: HttpRequest, study: Study) -> HttpResponse:
    """Reject the selected submissions one after another: each with its own ground and message.

    A page is about the first of them, and `person` names whom the press rejects.
    """
    if refused := _refused(request, study):
        return refused
    sent = request.POST if request.method == "POST" else request.GET
    ids = _ids(sent)
    if not ids:
        messages.error(request, "Select the submissions to reject.")
        return _back(study)
    submission = get_object_or_404(
        ProlificSubmission.objects.select_related("annotator"),
        pk=ids[0],
        prolific_study__study=study,
    )
    is_meant = whole_number(request.POST.get("person", "")) == submission.pk
    form = RejectForm(request.POST if is_meant and "reject" in request.POST else None)
    others = urlencode({"submission": ids[1:]}, doseq=True)
    next_page = f"{reverse('people:prolific-reject', args=[study.slug])}?{others}" if others else ""
    if form.is_valid():
        done = attempt(
            request,
            lambda: reject(
                study_id=study.pk,
                submission_id=submission.pk,
                user=user_of(request),
                **form.cleaned_data,
            ),
            lambda _: "Submission rejected. Its seats are free again.",
        )
        if done:
            return redirect(next_page) if next_page else _back(study)
    who = (
        submission.annotator.pseudonym
        if submission.annotator
        else "a participant who never arrived"
    )
    context = {
        "heading": f"Reject {who}",
        "submission": submission,
        "row": next((r for r in settlement(study).rows if r.submission == submission), None),
        "form": form,
        "ids": ids,
        "next_page": next_page,
        "others": len(ids) - 1,
    }
    status = UNPROCESSABLE if form.is_bound else 200
    return show(request, study, "reject", context, status=status)


@require_http_methods(["GET", "POST"])
@editor_page
def pay_bonuses(request: HttpRequest, study: Study) -> HttpResponse:
    """The payments of the study; posting selected participants prepares another."""
    if request.method == "POST":
        rows = [row for row in _chosen(request, study) if row.bonus]
        lines = [BonusLine(row.submission.pk, row.bonus, row.bonus_reason) for row in rows]

        def prepare() -> BonusPayment:
            payment = money.prepare(study_id=study.pk, lines=lines, user=user_of(request))
            return money.set_up(payment_id=payment.pk)

        attempt(
            request, prepare, lambda _: "Payment set up. Nothing is paid until you confirm below."
        )
        return redirect("people:prolific-bonuses", study.slug)
    owner = _owner_context(request, study)
    payments = (
        BonusPayment.objects.filter(prolific_study__study=study)
        .select_related("prolific_study__study")
        .prefetch_related("lines__submission__annotator")
    )
    context = {
        "payments": [
            {
                "payment": payment,
                "spending": _looked_at(payment) if owner["may_decide"] else None,
                "total": format_money(payment.total, currency),
                "sum": format_money(sum(line.amount for line in payment.lines.all()), currency),
                "lines": [
                    (line, format_money(line.amount, currency)) for line in payment.lines.all()
                ],
            }
            for payment in payments.order_by("-pk")
            for currency in [payment.prolific_study.paid_in]
        ],
        **owner,
    }
    return show(request, study, "bonuses", context)


def _looked_at(payment: BonusPayment) -> Spending | None:
    """What a payment that is ready spends, with the balance; None if Prolific cannot be asked."""
    if payment.state != BonusPayment.State.READY:
        return None
    try:
        return money.look_at_payment(payment)
    except ProlificError:
        return None


@require_http_methods(["POST"])
@editor_page
def act_on_payment(request: HttpRequest, study: Study) -> HttpResponse:
    """Pay once, check again, or cancel a payment."""
    number = whole_number(request.POST.get("payment", ""))
    if number is None:
        raise Http404
    payment = get_object_or_404(BonusPayment, pk=number, prolific_study__study=study)

    def pay() -> Any:
        confirmed = whole_number(request.POST.get("total", ""))
        if request.POST.get("sure") != "yes" or confirmed is None:
            raise NotAllowed("Confirm that you have checked the total.")
        typed = request.POST.get("sum", "")
        return money.pay(
            payment_id=payment.pk, confirmed=confirmed, typed=typed, user=user_of(request)
        )

    actions = {
        "pay": (pay, "Bonuses paid."),
        "set_up": (lambda: money.set_up(payment_id=payment.pk), "Payment set up."),
        "release": (
            lambda: money.release(payment_id=payment.pk, user=user_of(request)),
            "Payment checked.",
        ),
        "cancel": (
            lambda: money.cancel(payment_id=payment.pk),
            "Payment cancelled. Nothing was paid.",
        ),
    }
    function, words = actions[request.POST["action"]]
    attempt(request, function, lambda _: words)
    return redirect("people:prolific-bonuses", study.slug)
