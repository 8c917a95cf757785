"""A study's judges: progress and cost of runs, and every reply with its reading."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.validators import MinValueValidator
from django.db.models import F, OrderBy, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from judging import deliveries
from judging.backends.backend import IMPORTED
from judging.engine.messages import as_text, prompt_sha256
from judging.errors import JudgingError
from judging.models import Judge, JudgeRun, Judgment
from judging.pages.campaign_forms import ORDER_WORDS, CostedForm
from judging.prompts.asking import messages_of
from judging.protocols.usual import LEVELS
from judging.runs import lifecycle
from judging.runs.costs import estimate_extension, probe_of
from judging.runs.request_conditions import Conditions, conditions_of
from judging.runs.reuse import Saving, saving_of
from judging.runs.spec import Reuse, RunSpec
from judging.runs.structured_replies import go_on_structured, offer_of
from judging.selectors import (
    RunRow,
    campaigns_of,
    get_run,
    judgments_page,
    last_judgments,
    last_requests,
    may_edit,
    recent_cost,
    recent_progress,
    run_rows,
    speeds_of,
)
from judging.worker.unread import unread_of
from studies.errors import StudyError
from studies.models import Item, Membership, Study
from studies.pages.responses import LongList, csv_response
from studies.selectors import get_study, studies_for
from studies.services.studies import forbids_providers
from studies.statements.kept_figures import kept

# Columns of the table of runs: name in the address, label, and sort key.
RUN_COLUMNS: dict[str, tuple[str, Callable[[RunRow], Any]]] = {
    "judge": ("Judge", lambda row: (row.run.judge.name.casefold(), row.run.pk)),
    "state": ("State", lambda row: row.run.state_words),
    "done": ("Done", lambda row: row.progress.done),
    "left": ("Left", lambda row: row.progress.left),
    "speed": ("Per minute", lambda row: row.speed),
    "unread": ("Unparseable, refused", lambda row: row.progress.unparseable + row.progress.refused),
    "retries": ("Retries", lambda row: row.run.retries),
    "tokens": ("Tokens", lambda row: row.run.tokens),
    "cost": ("Cost", lambda row: row.run.spent_nano),
}
_ITEM = ("item__key", "shown_first", "sample")
JUDGMENT_SORTS: dict[str, tuple[str, tuple[str | OrderBy, ...]]] = {
    "": ("item", _ITEM),
    "latest": ("latest answer", (F("answered_at").desc(nulls_last=True), *_ITEM)),
    "certain": ("highest certainty", (F("certainty").desc(nulls_last=True), *_ITEM)),
    "uncertain": ("lowest certainty", (F("certainty").asc(nulls_last=True), *_ITEM)),
    "replies": ("most replies", ("-replies", *_ITEM)),
}


def sort_runs(rows: list[RunRow], sort: str) -> list[RunRow]:
    """Rows by a column of `RUN_COLUMNS`, descending with a minus before it; else unchanged."""
    column = RUN_COLUMNS.get(sort.removeprefix("-"))
    return sorted(rows, key=column[1], reverse=sort.startswith("-")) if column else rows


def filter_runs(
    runs: QuerySet[JudgeRun], *, state: str = "", search: str = "", campaign: str = ""
) -> QuerySet[JudgeRun]:
    if state:
        runs = runs.filter(state=state)
    if search:
        runs = runs.filter(judge__name__icontains=search)
    if campaign:
        runs = runs.filter(campaigns__public_id=campaign)
    return runs


# Columns of the files: header, and the cell of a row.
_RUN_CSV: dict[str, Callable[[RunRow], Any]] = {
    "run": lambda row: row.run.key[:12],
    "judge": lambda row: row.run.judge.name,
    "model": lambda row: row.run.judge.model,
    "setting": lambda row: row.run.setting,
    "features": lambda row: row.run.features,
    "bias_probe": lambda row: row.run.bias_probe,
    "orders": lambda row: row.run.orders,
    "samples": lambda row: row.run.samples,
    "state": lambda row: row.run.state_words,
    "reason": lambda row: row.run.sentence,
    "done": lambda row: row.progress.done,
    "left": lambda row: row.progress.left,
    "unparseable": lambda row: row.progress.unparseable,
    "refused": lambda row: row.progress.refused,
    "skipped": lambda row: row.progress.skipped,
    "failed": lambda row: row.progress.error,
    "retries": lambda row: row.run.retries,
    "tokens": lambda row: row.run.tokens,
    "cost_usd": lambda row: row.run.spent if row.run.is_billed else None,
    "started_at": lambda row: _seconds(row.run.started_at),
}
_JUDGMENT_CSV: dict[str, Callable[[Judgment], Any]] = {
    "item_id": lambda judgment: judgment.item.key,
    "shown_first": lambda judgment: judgment.shown_first,
    "sample": lambda judgment: judgment.sample,
    "state": lambda judgment: judgment.state,
    "choice": lambda judgment: judgment.choice,
    "certainty": lambda judgment: judgment.certainty,
    "replies": lambda judgment: judgment.replies,
    "reply": lambda judgment: judgment.raw_text,
    "read_as": lambda judgment: (judgment.details or {}).get("read"),
    "reason": lambda judgment: judgment.error,
    "model": lambda judgment: judgment.model_snapshot,
    "answered_at": lambda judgment: _seconds(judgment.answered_at),
    "native_certainty": lambda judgment: judgment.native_certainty,
}


def runs_csv(rows: Iterable[RunRow], *, name: str) -> HttpResponse:
    cells = ([cell(row) for cell in _RUN_CSV.values()] for row in rows)
    return csv_response(name, [*_RUN_CSV], cells)


def judgments_csv(judgments: QuerySet[Judgment], *, name: str) -> HttpResponse:
    rows = judgments.iterator(chunk_size=2000)
    cells = ([cell(judgment) for cell in _JUDGMENT_CSV.values()] for judgment in rows)
    return csv_response(name, [*_JUDGMENT_CSV], cells)


def _seconds(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


STATES = [
    ("", "all"),
    ("open", "not answered yet"),
    *[(s.value, s.label) for s in Judgment.State if s not in Judgment.OPEN],
]
_REUSE_CHOICES = {
    Reuse.IDENTICAL.value: "Reuse judgments of exactly the same request, with the same seed",
    Reuse.SAME_PROMPT.value: "Also reuse judgments of the same prompt with another seed",
    Reuse.FRESH.value: "Reuse none, and send every question again",
}


class JudgmentFilter(forms.Form):
    """The filter above a run's judgments; all fields are optional."""

    state = forms.ChoiceField(choices=STATES, required=False, label="State")
    search = forms.CharField(required=False, max_length=120, label="Item id")
    sort = forms.ChoiceField(
        choices=[(name, label) for name, (label, _) in JUDGMENT_SORTS.items()],
        required=False,
        label="Sort by",
    )


class RunFilter(forms.Form):
    """The filter above the runs of a study; all fields are optional."""

    state = forms.ChoiceField(
        choices=[("", "all"), *JudgeRun.State.choices], required=False, label="State"
    )
    search = forms.CharField(required=False, max_length=120, label="Judge name")
    campaign = forms.ChoiceField(required=False, label="Campaign")

    def __init__(self, study: Study, data: Any) -> None:
        super().__init__(data)
        field = self.fields["campaign"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101
        field.choices = [("", "all"), *campaigns_of(study).values_list("public_id", "name")]


class ExtendForm(CostedForm):
    """A form to extend a run by items, samples or the other order."""

    limit = forms.IntegerField(
        min_value=1,
        required=False,
        label="Items",
        help_text="Uses only the first items. Leave empty for all.",
    )
    samples = forms.IntegerField(max_value=100, label="Samples")
    orders = forms.ChoiceField(widget=forms.RadioSelect, label="Order of the responses")
    reuse = forms.ChoiceField(
        choices=list(_REUSE_CHOICES.items()),
        widget=forms.RadioSelect,
        required=False,
        initial=Reuse.IDENTICAL,
        label="Judgments that other runs have paid for",
    )
    budget = forms.DecimalField(
        min_value=Decimal("0.01"),
        decimal_places=2,
        required=False,
        label="Budget, US dollars",
        help_text="For the whole run, checked before each request. Leave empty to keep it.",
    )
    token_budget = forms.IntegerField(
        min_value=1, required=False, label="Budget, tokens", help_text="Leave empty to keep it."
    )

    def __init__(self, run: JudgeRun, data: Any = None) -> None:
        self._run = run
        items = Judgment.objects.filter(run=run).values("item").distinct().count()
        is_limited = items < Item.objects.filter(study=run.study_id).count()
        initial = {
            "limit": items if is_limited else None,
            "samples": run.samples,
            "orders": run.orders,
            "budget": run.budget,
            "token_budget": run.token_budget,
        }
        super().__init__(data, initial=initial)
        samples, orders = self.fields["samples"], self.fields["orders"]
        samples.validators.append(MinValueValidator(run.samples))
        samples.help_text = f"The run has {run.samples}. Enter the same number or more."
        assert isinstance(orders, forms.ChoiceField)  # noqa: S101
        both = JudgeRun.Orders.BOTH
        orders.choices = [(name, ORDER_WORDS[name]) for name in dict.fromkeys([run.orders, both])]

    def spec(self) -> RunSpec:
        chosen = dict(self.cleaned_data)
        chosen["reuse"] = Reuse(chosen["reuse"] or Reuse.IDENTICAL)
        return RunSpec.of(self._run, **chosen, extend=True)


PER_PAGE = 20
_ACTIONS = {
    "pause": lifecycle.pause_run,
    "resume": lifecycle.resume_run,
    "cancel": lifecycle.cancel_run,
    "retry": lifecycle.retry_failed,
    "leave_out": lifecycle.leave_out_run,
    "take_back": lifecycle.take_back_run,
}


# What decision endpoints say about their answers.
_DETAILS = {
    "confidence": "The server’s own confidence",
    "vendor_choice": "The server’s own choice",
    "levels": "Levels of certainty",
}


@dataclass
class ShownJudgment:
    """A judgment with its rebuilt prompt."""

    judgment: Judgment
    prompt: str
    prompt_differs: bool
    source: str = ""  # the address of the run it was reused from, if the user may see it

    @property
    def details(self) -> list[tuple[str, str]]:
        """Other contents of the reply, in words. How it was read is `Judgment.read_as`."""
        details: dict[str, Any] = {**(self.judgment.details or {})}
        details.pop("read", None)
        if levels := details.get("levels"):  # a database keeps no order
            details["levels"] = {level: levels[level] for level in LEVELS if level in levels}
        return [
            (_DETAILS.get(name) or name.replace("_", " ").capitalize(), _in_words(of))
            for name, of in details.items()
        ]


@login_required
@require_GET
def runs_page(
    request: HttpRequest, slug: str, *, template: str = "judging/list.html"
) -> HttpResponse:
    """Show all runs of a study, filtered and sorted, as a page, its live part, or CSV."""
    study = get_study(request.user, slug)
    form = RunFilter(study, request.GET)
    chosen = form.cleaned_data if form.is_valid() else {}
    rows = run_rows(study, filter_runs(study.judge_runs.all(), **chosen))
    sort = request.GET.get("sort", "")
    rows = sort_runs(rows, sort)
    if request.GET.get("format") == "csv":
        return runs_csv(rows, name=f"{study.slug}-runs")
    context = {
        "study": study,
        "form": form,
        "sort": sort,
        "rows": rows,
        "columns": _columns(sort),
        "is_filtered": any(chosen.values()),
        "has_judges": _has_judges(),
        "query": request.GET.urlencode(),
        "may_edit": may_edit(request.user, slug),
    }
    return render(request, template, context)


def _has_judges() -> bool:
    """Whether a study has a judge that can be asked, not only imported judgments."""
    return Judge.objects.filter(is_retired=False).exclude(model=IMPORTED).exists()


def _columns(sort: str) -> list[dict[str, str]]:
    """Headers of the runs: label, current sort order, and the effect of a click."""
    columns = []
    for name, (label, _) in RUN_COLUMNS.items():
        now = {name: "ascending", f"-{name}": "descending"}.get(sort, "none")
        then = f"-{name}" if now == "ascending" else name
        columns.append({"label": label, "now": now, "then": then})
    return columns


@login_required
@require_GET
def run_page(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Show a run: its progress, costs, settings and failures."""
    study = get_study(request.user, slug)
    run = get_run(study, run_id)
    form = JudgmentFilter(request.GET)
    chosen = form.cleaned_data if form.is_valid() else {"state": "", "search": "", "sort": ""}
    judgments = judgments_page(run, state=chosen["state"], query=chosen["search"])
    judgments = judgments.order_by(*JUDGMENT_SORTS[chosen["sort"]][1])
    if request.GET.get("format") == "csv":
        return judgments_csv(judgments, name=f"{study.slug}-{run.key[:12]}")
    key = (run.pk, chosen["state"], chosen["search"])
    page = LongList(judgments, PER_PAGE, name="judgments", key=key).get_page(
        request.GET.get("page")
    )
    context = _run_context(request, study, run) | {
        "form": form,
        "page": page,
        "shown": _all_shown(request, study, run, page),
    }
    return render(request, "judging/run.html", context)


@login_required
@require_GET
def run_panel(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Show the part of a run's page that is refreshed while the run is active."""
    study = get_study(request.user, slug)
    context = _run_context(request, study, get_run(study, run_id))
    return render(request, "judging/_run.html", context)


def _run_context(request: HttpRequest, study: Study, run: JudgeRun) -> dict[str, Any]:
    progress = recent_progress(run)
    allowed = may_edit(request.user, study.slug)
    shown_panels = (
        delivery.panel(run, progress, may_edit=allowed) for delivery in deliveries.MORE.of(study)
    )
    panels = [panel for panel in shown_panels if panel is not None]
    return {
        "study": study,
        "run": run,
        "progress": progress,
        "speed": speeds_of([run]).get(run.pk, 0),
        "cost": recent_cost(run),
        "saving": _saving_of(run, progress.ended),
        "panels": panels,
        # Nothing is left to ask here, so there is nothing to resume.
        "is_all_elsewhere": any(panel.holds_all for panel in panels),
        "conditions": _conditions_of(run, progress.ended),
        "offer": offer_of(run) if progress.unparseable else None,
        "unread": unread_of(run),
        "last_judgments": last_judgments(run),
        "last_requests": last_requests(run) if run.is_active or run.is_resumable else (),
        "probe": probe_of(run) if run.awaits_yes else None,
        "may_edit": allowed,
        "forbids_providers": bool(run.judge.providers) and forbids_providers(study),
    }


def _conditions_of(run: JudgeRun, judgments: int) -> Conditions:
    return kept(
        "conditions",
        run.pk,
        count=lambda: conditions_of([run])[run.pk],
        rows=lambda conditions: judgments,
    )


def _saving_of(run: JudgeRun, judgments: int) -> Saving | None:
    return kept(
        "saving",
        run.pk,
        count=lambda: saving_of(run),
        rows=lambda saving: judgments if saving else 0,
    )


@login_required
@require_POST
def change_run(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Pause, resume or cancel a run; viewers get the same 404 as users without access."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    run = get_run(study, run_id)
    if not _ACTIONS[request.POST["action"]](run_id=run.pk, user=cast(User, request.user)):
        messages.info(
            request, "Nothing was changed, because the state of the run has changed meanwhile."
        )
    return redirect("judging:run", slug, run_id)


@login_required
@require_POST
def go_on(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Ask the questions of a run again for structured replies, and show that run."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    run = get_run(study, run_id)
    try:
        run = go_on_structured(run_id=run.pk, user=cast(User, request.user))
    except (JudgingError, StudyError) as error:
        messages.error(request, str(error))
    return redirect("judging:run", slug, run.public_id)


@login_required
@require_http_methods(["GET", "POST"])
def extend_run(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Extend a run by items, samples or the other order, after showing the cost."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    run = get_run(study, run_id)
    if run.is_imported:
        raise Http404
    form = ExtendForm(run, request.POST or None)
    estimate = None
    if form.is_valid():
        try:
            spec = form.spec()
            estimate = estimate_extension(run, spec, user=cast(User, request.user))
            if form.may_start:
                lifecycle.extend_run(run, spec, user=cast(User, request.user))
                return redirect("judging:run", slug, run_id)
        except (JudgingError, StudyError) as error:
            form.show(error)
    context = {
        "study": study,
        "run": run,
        "form": form,
        "estimate": estimate,
        "has_changed": "start" in request.POST,
    }
    return render(request, "judging/extend.html", context, status=422 if form.errors else 200)


def _all_shown(
    request: HttpRequest, study: Study, run: JudgeRun, page: Iterable[Judgment]
) -> list[ShownJudgment]:
    """Judgments with prompts, and the address of their source if the user may see it."""
    rows = [_shown(study, run, judgment) for judgment in page]
    sources = [row.judgment.reused_from for row in rows if row.judgment.reused_from]
    if not sources:
        return rows
    studies = {study.pk: study.slug}
    others = {source.run.study_id for source in sources} - studies.keys()
    studies |= dict(studies_for(request.user).filter(pk__in=others).values_list("pk", "slug"))
    for row in rows:
        if (source := row.judgment.reused_from) and (slug := studies.get(source.run.study_id)):
            row.source = reverse("judging:run", args=[slug, source.run.public_id])
    return rows


def _in_words(detail: Any) -> str:
    if isinstance(detail, float):
        return f"{detail:.3g}"
    if not isinstance(detail, dict):
        return str(detail)
    return ", ".join(f"{name} {_in_words(of)}" for name, of in detail.items())


def _shown(study: Study, run: JudgeRun, judgment: Judgment) -> ShownJudgment:
    if run.is_imported or not judgment.shown_first:
        return ShownJudgment(judgment, "", False)
    messages = messages_of(run, judgment.item, shown_first=judgment.shown_first)
    is_other = judgment.prompt_sha256 not in ("", prompt_sha256(messages))
    return ShownJudgment(judgment, as_text(messages), is_other)
