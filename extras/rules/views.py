"""The page “Why they disagree”: rules, who follows them, examples, and a search for more."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from analysis.data.item_comparisons import find_run, fingerprint_of, labelled, runs_to_compare
from analysis.data.item_texts import items_by_id
from analysis.disagreements.comparisons import comparison_for
from analysis.disagreements.selection import Selection, rows_of
from analysis.models import ComparedItem, Comparison
from analysis.report.results import Finding
from analysis.report.rules import LEVEL
from analysis.report.sentences import claim_p
from analysis.report.words import points, points_range
from extras.rules.models import RuleSearch
from extras.rules.prompts import APPLY, PROPOSE
from extras.rules.requests import (
    FAVOURS,
    estimate_search,
    request_again,
    request_search,
)
from extras.rules.tasks import search_rules
from judging.errors import JudgingError
from judging.models import NANO, Judge, JudgeRun
from judging.pages.asking_forms import budget_field, offer_judges
from studies.errors import StudyError
from studies.jobs.retry import job_status
from studies.models import Membership, Study
from studies.pages.addressed import PROGRESS
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED
from studies.pages.workbench import SectionPage
from studies.selectors import get_study

FEWEST_READ, MOST_READ, USUAL_READ = 40, 2_000, 250
_EXAMPLES, _WITH_EXAMPLES = 3, 5


class SearchForm(forms.Form):
    """Who proposes and applies rules, to how many items, and the budget."""

    judge = forms.ModelChoiceField(
        queryset=Judge.objects.none(),
        label="Judge that proposes and applies rules",
        empty_label="No judge: measured features only",
        required=False,
    )
    to_read = forms.IntegerField(
        label="Items that the judge reads",
        min_value=FEWEST_READ,
        max_value=MOST_READ,
        help_text="A difference of 15 points is usually found if a rule favours a response in 150.",
    )
    budget = budget_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_judges(self, "judge")


@dataclass(frozen=True)
class ShownRule:
    """A rule of the table, with the addresses of its items and some of them as examples."""

    found: Mapping[str, Any]
    verdict: str
    difference: str
    disagreements: str
    items: str
    examples: list[Mapping[str, Any]]

    @property
    def with_judge(self) -> int:
        """Disagreements in which the judge chose by the rule."""
        return int(self.found["differ"] - self.found["with_people"])


@login_required
@require_http_methods(["GET", "POST"])
def why(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the rules of one run; a search is priced first, and starts with a second press."""
    role = Membership.Role.EDITOR if request.method == "POST" else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    runs = runs_to_compare(study)
    run = find_run(study, request.POST.get("run") or request.GET.get("run", ""), runs)
    is_sent = request.method == "POST" or "cost" in request.GET
    form = SearchForm((request.POST or request.GET) if is_sent else None, initial=_initial(request))
    cost = None
    if run is not None and form.is_valid():
        judge, to_read = form.cleaned_data["judge"], form.cleaned_data["to_read"]
        if request.method == "POST":
            try:
                search = request_search(run=run, user=cast(User, request.user), **form.cleaned_data)
            except (StudyError, JudgingError) as error:
                form.add_error(None, str(error))
            else:
                search_rules.delay_on_commit(search.pk)  # type: ignore[attr-defined]
                return redirect(_address(study, run))
        else:
            cost = estimate_search(study, judge, to_read) if judge else None
    context = {"study": study, "runs": runs, "run": run, "labelled": labelled(runs), "form": form}
    context |= {"cost": cost, "is_priced": is_sent and not form.errors, "asked": (PROPOSE, APPLY)}
    context["change"] = urlencode({n: v for n, v in request.GET.items() if n != "cost"})
    context["may_edit"] = role_of(request.user, study) != Membership.Role.VIEWER
    if run is not None:
        context |= _found(study, run)
        context["status_url"] = f"?run={run.public_id}&{PROGRESS}"
    return render(request, "rules/why.html", context, status=REFUSED if form.errors else 200)


@login_required
@require_GET
def status(request: HttpRequest, slug: str) -> JsonResponse:
    """Show the progress that the page fetches while a worker searches."""
    study = get_study(request.user, slug)
    run = find_run(study, request.GET.get("run", ""))
    return job_status(_searches(run).first() if run else None)


@login_required
@require_POST
def again(request: HttpRequest, slug: str) -> HttpResponse:
    """Go on with a search that ended early, or count the answers of a finished one again."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    searches = RuleSearch.objects.filter(study=study).select_related("run")
    wanted_id = request.POST.get("search", "").replace("\0", "")
    search = get_object_or_404(searches, public_id=wanted_id)
    budget = SearchForm.base_fields["budget"]
    try:
        wanted = budget.clean(request.POST.get("budget", ""))
    except forms.ValidationError as error:
        messages.error(request, f"Budget: {' '.join(error.messages)}")
    else:
        if request_again(search, budget=wanted or search.budget):
            search_rules.delay_on_commit(search.pk)  # type: ignore[attr-defined]
    return redirect(_address(study, search.run))


def _initial(request: HttpRequest) -> dict[str, Any]:
    """What somebody entered before changing it; empty values keep the form's own."""
    return {"to_read": USUAL_READ} | {name: value for name, value in request.GET.items() if value}


def _address(study: Study, run: JudgeRun) -> str:
    return f"{reverse('rules:why', args=[study.slug])}?run={run.public_id}"


def _searches(run: JudgeRun) -> Any:
    return RuleSearch.objects.filter(run=run).order_by("-pk")


def _found(study: Study, run: JudgeRun) -> dict[str, Any]:
    """The newest search of a run, and what the newest finished one found."""
    job = _searches(run).first()
    finished = _searches(run).exclude(results={}).first()
    context: dict[str, Any] = {"job": job, "search": finished}
    if job is not None:
        used = job.requests.aggregate(nano=Sum("spent_nano", default=0))
        context["spent"] = Decimal(used["nano"]) / NANO
    if finished is not None:
        context["is_old"] = finished.fingerprint != fingerprint_of(study, [run])
        context["results"] = finished.results
        context["rules"] = _rules(finished, comparison_for(study, run.pk))
        context["untested"] = [rule for rule in context["rules"] if rule.found["p_holm"] is None]
    return context


def _rules(search: RuleSearch, comparison: Comparison) -> list[ShownRule]:
    """The rules, those that hold first, then the largest differences."""
    pairs = list(zip(search.rules.order_by("number"), search.results["rules"], strict=True))
    pairs.sort(key=lambda pair: _order(pair[1]))
    listed = []
    for n, (rule, test) in enumerate(pairs):
        chosen = Selection(run=search.run.public_id, among=f"rule:{rule.public_id}")
        is_shown = comparison.edition and n < _WITH_EXAMPLES and test["differ"]
        rows = list(rows_of(comparison, chosen)[:_EXAMPLES]) if is_shown else []
        listed.append(
            ShownRule(
                test,
                _verdict(test),
                _difference(test),
                chosen.query(),
                chosen.query(show="all"),
                _examples(search, rule.number, rows, chosen.query()),
            )
        )
    return listed


def _order(test: Mapping[str, Any]) -> tuple[float, float]:
    p = test["p_holm"]
    return (1.0 if p is None else p), -abs(test["difference"] or 0.0)


def _verdict(test: Mapping[str, Any]) -> str:
    p = claim_p(test)
    if p is None or p > LEVEL:
        return Finding.OPEN.value
    return "people follow it more" if test["difference"] > 0 else "the judge follows it more"


def _difference(test: Mapping[str, Any]) -> str:
    if test["difference"] is None:
        return "–"
    ends = f" ({points_range(test['ci'])})" if test["ci"] else ""
    return points(test["difference"]) + ends


def _examples(
    search: RuleSearch, number: int, rows: list[ComparedItem], query: str
) -> list[Mapping[str, Any]]:
    """Items as examples: question, favoured response, and what people and judge chose."""
    items = items_by_id([row.item for row in rows])
    marks = dict(search.marked.filter(item__in=items).values_list("item", "marks"))
    return [
        {
            "item": items[row.item],
            "favoured": FAVOURS[marks[row.item][number - 1]],
            "row": row,
            "query": f"list=disagreements&{query}",
        }
        for row in rows
        if row.item in items and row.item in marks
    ]


def pages(study: Study) -> list[SectionPage]:
    return [
        SectionPage("report", "Why they disagree", reverse("rules:why", args=[study.slug])),
    ]
