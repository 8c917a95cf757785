"""Pages to add, test and change judges, which all studies share."""

import os
from functools import partial
from pkgutil import resolve_name
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser, User
from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from judging.backends.backend import IMPORTED, OwnForm, key_variable
from judging.backends.kinds import backend_kind, backend_kinds
from judging.backends.presets import GROUPS, JudgePreset, presets, public_price
from judging.catalog import changes
from judging.catalog.access import (
    is_used_elsewhere,
    may_add_addresses,
    may_change,
    usable_addresses,
)
from judging.catalog.connection_test import form_words, run_connection_test, setting_of
from judging.errors import JudgingError
from judging.models import Judge
from judging.pages import fetched_models
from judging.pages.judge_forms import JudgeForm
from judging.worker.endpoints import key_refusal, serves_key, settings_of
from studies.models import Membership, Study
from studies.selectors import get_study
from studies.services.studies import forbids_providers, record
from studies.statements import clock

PER_PAGE = 20
_TAKES = {
    "images": "pictures",
    "structured": "a schema for replies",
    "probabilities": "option probabilities",
    "seed": "a seed",
    "decisions": "decision requests",
    "ties": "ties",
}


def _editors_study(request: HttpRequest, slug: str) -> Study:
    return get_study(request.user, slug, role=Membership.Role.EDITOR)


def _judges() -> QuerySet[Judge]:
    """The judges that can be asked, without judges of imported judgments."""
    return Judge.objects.exclude(model=IMPORTED)


@login_required
@require_GET
def judges_page(request: HttpRequest, slug: str) -> HttpResponse:
    """List the judges that a study can ask."""
    study = _editors_study(request, slug)
    judges = (
        _judges()
        .annotate(runs_here=Count("runs", filter=Q(runs__study=study)))
        .select_related("key_by")
        .order_by("is_retired", "name")
    )
    page = Paginator(judges, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "page": page,
        "rows": [(judge, _key_state(judge, study)) for judge in page],
        "may_add_addresses": may_add_addresses(request.user),
    }
    return render(request, "judging/judges.html", context)


@sensitive_variables()
@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "POST"])
def add_judge(request: HttpRequest, slug: str) -> HttpResponse:
    """Add a judge."""
    study, user = _editors_study(request, slug), cast(User, request.user)
    like = _chosen_judge(user, request.GET.get("like", ""))
    preset = request.GET.get("preset", "")
    own_forms = [kind.own_form for kind in backend_kinds() if kind.own_form]
    own_form = (
        next((own for own in own_forms if own.preset == preset), None)
        if like is None
        else backend_kind(like.backend).own_form
    )
    if own_form and not may_add_addresses(user):
        raise Http404
    form_class = partial(_form(own_form), user, study=study, like=like, preset=preset)
    start = {"model": request.GET["model"][:200]} if "model" in request.GET else {}
    form = form_class(request.POST or None, start=start)
    context: dict[str, Any] = {}
    helped = None if own_form else fetched_models.take(request, study, user, form, form_class)
    if helped:
        form, of_page = helped
        context |= of_page
    elif form.is_valid() and (judge := _save(form, study, user, None)):
        if {"test", "enter"} & request.POST.keys() and judge.capabilities.needs_endpoint:
            messages.success(request, f"Judge “{judge.name}” is added.")
            return _tested(request, study, judge)
        messages.success(request, f"Judge “{judge.name}” is added. Test it before you use it.")
        return redirect("judging:judge", slug, judge.pk)
    chosen = presets().get(preset)
    price = public_price(chosen.base_url, chosen.model) if chosen else None
    context |= {
        "price_remark": price.remark(clock.now().date()) if price else "",
        "preset": chosen,
        "takes": [(_TAKES[name], word) for name, word in chosen.takes.items()] if chosen else [],
        "preset_groups": _preset_groups(user),
        "has_start": bool(preset or own_form or helped or form.is_bound),
        "like": like,
        "own_form": own_form,
        "own_forms": own_forms if may_add_addresses(user) else [],
        "may_add_addresses": may_add_addresses(user),
    }
    return _form_page(request, study, form, context)


def _preset_groups(user: User) -> list[tuple[str, list[tuple[str, JudgePreset, bool]]]]:
    usable = usable_addresses(user, [preset.base_url for preset in presets().values()])
    rows: dict[str, list[tuple[str, JudgePreset, bool]]] = {title: [] for title in GROUPS.values()}
    for name, preset in presets().items():
        is_usable = not preset.base_url or preset.base_url in usable
        rows[GROUPS[preset.group]].append((name, preset, is_usable))
    return list(rows.items())


@sensitive_variables()
@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "POST"])
def change_judge(request: HttpRequest, slug: str, judge_id: int) -> HttpResponse:
    """Change a judge."""
    study, user = _editors_study(request, slug), cast(User, request.user)
    judge = get_object_or_404(_judges(), pk=judge_id)
    if not _has_form(user, judge) or not may_change(user, judge):
        raise Http404
    form_class = _form(backend_kind(judge.backend).own_form)
    form = form_class(user, request.POST or None, study=study, judge=judge)
    if form.is_valid() and (saved := _save(form, study, user, judge)):
        messages.success(request, "The changes are saved. They apply to future requests.")
        if "test" in request.POST and saved.capabilities.needs_endpoint:
            return _tested(request, study, saved)
        return redirect("judging:judge", slug, judge.pk)
    return _form_page(request, study, form, {"judge": judge})


def _has_form(user: User | AnonymousUser, judge: Judge) -> bool:
    own_form = backend_kind(judge.backend).own_form
    return judge.capabilities.needs_endpoint or (own_form is not None and may_add_addresses(user))


def _form(own_form: OwnForm | None) -> type[JudgeForm]:
    return cast(type[JudgeForm], resolve_name(own_form.form)) if own_form else JudgeForm


@sensitive_variables()
def _save(form: JudgeForm, study: Study, user: User, judge: Judge | None) -> Judge | None:
    """The stored judge; None if the form has faults to show."""
    try:
        return changes.save_judge(judge=judge, study=study, user=user, **form.chosen())
    except JudgingError as error:
        form.show(error)
        return None


def _form_page(
    request: HttpRequest, study: Study, form: JudgeForm, context: dict[str, Any]
) -> HttpResponse:
    context = {"study": study, "form": form} | context
    status = 422 if form.errors else 200
    return render(request, "judging/judge_form.html", context, status=status)


@login_required
@require_GET
def judge_page(request: HttpRequest, slug: str, judge_id: int) -> HttpResponse:
    """Show a judge, and test the connection to its server."""
    study = _editors_study(request, slug)
    judge = get_object_or_404(_judges(), pk=judge_id)
    return render(request, "judging/judge.html", _judge_context(request, study, judge))


@login_required
@require_POST
def test_judge(request: HttpRequest, slug: str, judge_id: int) -> HttpResponse:
    """Ask one question and show the result; only the log records it."""
    study = _editors_study(request, slug)
    judge = get_object_or_404(_judges(), pk=judge_id)
    if judge.capabilities.is_local:
        raise Http404
    return _tested(request, study, judge)


def _tested(request: HttpRequest, study: Study, judge: Judge) -> HttpResponse:
    """The page of the judge with the result of a test question that is sent now."""
    result = run_connection_test(judge, study)
    record(
        study,
        "judge tested",
        user=cast(User, request.user),
        judge=judge.name,
        outcome=result.outcome,
        tokens=(result.prompt_tokens or 0) + (result.completion_tokens or 0),
    )
    context = _judge_context(request, study, judge) | {"result": result}
    return render(request, "judging/judge.html", context)


@login_required
@require_POST
def change_offer(request: HttpRequest, slug: str, judge_id: int) -> HttpResponse:
    """Retire a judge, offer it again, remove its stored key, or delete it."""
    study, user = _editors_study(request, slug), cast(User, request.user)
    judge, action = get_object_or_404(_judges(), pk=judge_id), request.POST["action"]
    if not may_change(user, judge):
        raise Http404
    try:
        if action == "delete":
            changes.delete_judge(judge=judge, study=study, user=user)
            messages.success(request, f"Judge “{judge.name}” is deleted.")
            return redirect("judging:judges", slug)
        if action == "remove_key":
            changes.remove_key(judge=judge, study=study, user=user)
            messages.success(request, "The stored key is removed.")
        else:
            is_retired = action == "retire"
            changes.set_retired(judge=judge, is_retired=is_retired, study=study, user=user)
    except JudgingError as error:
        messages.error(request, str(error))
    return redirect("judging:judge", slug, judge.pk)


def _judge_context(request: HttpRequest, study: Study, judge: Judge) -> dict[str, Any]:
    return {
        "study": study,
        "judge": judge,
        "key_state": _key_state(judge, study),
        "key_refusal": "" if serves_key(judge, study) else key_refusal(judge),
        "form_words": form_words(judge.reply_form.get("way", "")),
        "setting": setting_of(study),
        "runs_here": judge.runs.filter(study=study).count(),
        "has_runs": judge.runs.exists() or judge.juries.exists(),
        "may_change": may_change(request.user, judge),
        "is_used_elsewhere": is_used_elsewhere(request.user, judge),
        "has_form": _has_form(request.user, judge),
        "may_test": not judge.capabilities.is_local,
        "forbids_providers": bool(judge.providers) and forbids_providers(study),
    }


def _chosen_judge(user: User, text: str) -> Judge | None:
    judge = _judges().filter(pk=text).first() if text.isdecimal() and len(text) < 10 else None
    return judge if judge and _has_form(user, judge) else None


def _key_state(judge: Judge, study: Study) -> tuple[str, bool]:
    """Where the key of a judge is, in words, and whether something is wrong with it."""
    if not judge.capabilities.needs_endpoint:
        return "no key needed", False
    if judge.sealed_key:
        is_here = serves_key(judge, study)
        return "stored, encrypted" if is_here else "stored, for other studies", not is_here
    name = key_variable(settings_of(judge))
    if not name:
        return "none", False
    is_set = bool(os.environ.get(name, "").strip())
    return (name, False) if is_set else (f"{name}, which is not set on this web server", True)
