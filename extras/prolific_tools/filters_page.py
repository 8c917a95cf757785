"""The page that adds filters of Prolific's list to a launch plan, and removes them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.prolific.additions import ProlificPart
from annotation.prolific.api.types import Filter, WantedFilter, resolve
from annotation.prolific.launch import launch
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.launch.plan_words import filter_words
from annotation.prolific.pages.plan_views import FilterList, read_filters
from annotation.prolific.pages.views import UNPROCESSABLE, attempt, editor_page, show, user_of
from studies.errors import StaleVersion
from studies.models import Study

# The most filters of a plan, and the most ids of a list.
_MOST, _MOST_VALUES = 40, 5000
_MOST_FOUND = 20


@require_http_methods(["GET", "POST"])
@editor_page
def filters(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the plan's filters and those of Prolific's list that match a search; change the plan."""
    plan = launch.plan_of(study)
    known = read_filters(study.pk, plan.workspace)
    search = request.POST.get("search", "") or request.GET.get("search", "")
    problem = ""
    if request.method == "POST":
        changed, problem = _changed(plan, request.POST, known)
        if not problem and _save(request, study, changed):
            return redirect("prolific_tools:filters", study.slug)
    context = {
        "plan": [filter_words(one, known.filters) for one in plan.filters],
        "joinable": [
            (f"{number}+and", filter_words(one["any"][-1], known.filters))
            for number, one in enumerate(plan.filters)
            if one.get("any")
        ],
        "seen": launch.seen_launch(plan),
        "known": known,
        "lists": [one for one in known.filters if one.is_list],
        "search": search,
        "found": _found(known.filters, search),
        "problem": problem,
    }
    status = UNPROCESSABLE if request.method == "POST" else 200
    return show(request, study, "filters", context, status=status)


def _save(request: HttpRequest, study: Study, changed: LaunchPlan) -> bool:
    def save() -> None:
        seen = request.POST.get("seen")
        launch.save_plan(study_id=study.pk, plan=changed, seen=seen, user=user_of(request))

    try:
        return attempt(request, save, lambda _: "Filters of the launch plan saved.")
    except StaleVersion as error:
        messages.error(request, str(error))
        return False


def _changed(plan: LaunchPlan, sent: QueryDict, known: FilterList) -> tuple[LaunchPlan, str]:
    """The plan with a filter more or less, or the sentence why not."""
    kept = list(plan.filters)
    if "remove" in sent:
        number = sent.get("remove", "")
        if number.isdecimal() and int(number) < len(kept):
            del kept[int(number)]
        return dataclasses.replace(plan, filters=tuple(kept)), ""
    live = {one.id: one for one in known.filters}
    chosen = live.get(sent.get("filter", ""))
    if chosen is None:
        return plan, "Prolific has no such filter. Search for it again."
    one, problem = _read(chosen, sent)
    problem = problem or " ".join(resolve([WantedFilter.of(one)], known.filters).problems)
    if not problem and len(kept) >= _MOST:
        problem = f"A launch plan has at most {_MOST} filters. Remove one first."
    if problem:
        return plan, problem
    place, _, joins = sent.get("instead_of", "").partition("+")
    if place.isdecimal() and int(place) < len(kept):
        before = kept[int(place)]
        either = [*before.get("any", [before])]
        if joins and "any" in before:
            either[-1] = {"all": [*either[-1].get("all", [either[-1]]), one]}
        else:
            either.append(one)
        kept[int(place)] = {"any": either}
    else:
        kept.append(one)
    return dataclasses.replace(plan, filters=tuple(kept)), ""


def _read(chosen: Filter, sent: QueryDict) -> tuple[Mapping[str, Any], str]:
    """A filter as it is stored, from the fields of its form."""
    if chosen.is_range:
        bounds = {name: sent.get(name, "").strip() for name in ("low", "high")}
        if not any(bounds.values()):
            return {}, f"{chosen.title}: enter the lowest or the highest value, or both."
        return {"filter": chosen.id, **{name: text for name, text in bounds.items() if text}}, ""
    labels = [*sent.getlist("choice"), *sent.get("ids", "").replace(",", " ").split()]
    labels = list(dict.fromkeys(label for label in labels if label))
    if not labels:
        return {}, f"{chosen.title}: choose at least one."
    if len(labels) > _MOST_VALUES:
        return {}, f"{chosen.title}: at most {_MOST_VALUES:,} ids. Use a participant group instead."
    return {"filter": chosen.id, "labels": labels}, ""


def _found(filters: Sequence[Filter], words: str) -> list[Filter]:
    """Filters with all of the words in title, question or choices, sorted by title."""
    wanted = words.casefold().split()
    matches = [
        one
        for one in filters
        if wanted
        and (one.is_choice or one.is_range)
        and all(
            word in " ".join([one.title, one.question, *one.choices.values()]).casefold()
            for word in wanted
        )
    ]
    return sorted(matches, key=lambda one: one.title.casefold())[:_MOST_FOUND]


LINK = ProlificPart("filters", "plan", "annotation/prolific/filters_link.html")
