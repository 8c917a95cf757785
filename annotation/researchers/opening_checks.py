"""Launch checks about annotators, for every way of recruiting."""

import math
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from annotation.content.attention_check_rules import unfair_checks
from annotation.models import Invitation
from annotation.prolific.launch.study_checks import study_checks
from studies.models import Study
from studies.pages.listing import study_figures
from studies.services.launch_checks import LaunchCheck


def opening_checks(study: Study) -> list[LaunchCheck]:
    return [
        _seats(study),
        *_groups(study),
        *_entry(study),
        *study_checks(study),
        *_fairness(study),
    ]


def _seats(study: Study) -> LaunchCheck:
    figures = study_figures(study)
    if not figures.seats:
        fix = reverse("studies:import", args=[study.slug])
        return LaunchCheck("No item needs an answer. Import items.", True, True, fix)
    words = f"{figures.sampled:,} items need {figures.seats:,} answers"
    return LaunchCheck(f"{words}: {_needed(study):,} annotators.", False)


def _needed(study: Study) -> int:
    """The annotators who fill every seat."""
    return math.ceil(study_figures(study).seats / study.items_per_annotator)


def _groups(study: Study) -> list[LaunchCheck]:
    targets = list(study.quota_groups.values_list("target", flat=True))
    if not targets:
        return []
    fix = reverse("people:places", args=[study.slug])
    places, needed = sum(targets), _needed(study)
    if places < needed:
        words = f"The quota groups have {places:,} places, but the items need {needed:,} annotators"
        return [LaunchCheck(f"{words}: some seats stay open.", True, fix=fix)]
    rest = study.quota_groups.filter(is_everyone_else=True, target__gt=0).first()
    words = f"The quota groups admit {places:,} annotators"
    if rest is not None:
        words += f", {rest.target:,} of them who match no other group"
    return [LaunchCheck(f"{words}.", False)]


def _entry(study: Study) -> list[LaunchCheck]:
    checks = []
    if study.entry == Study.Entry.LIST:
        invited = Invitation.objects.filter(study=study).count()
        words = f"{invited:,} ids are invited." if invited else "Nobody is invited. Add ids."
        fix = reverse("people:invitations", args=[study.slug])
        checks.append(LaunchCheck(words, not invited, True, fix))
    if urlsplit(settings.PUBLIC_BASE_URL).scheme == "https":
        return [*checks, LaunchCheck("Annotators can reach the study’s address.", False)]
    words = (
        f"The study’s address is {settings.PUBLIC_BASE_URL}. Annotators on other machines need a "
        "public https address: ask your administrator to set PUBLIC_BASE_URL."
    )
    return [*checks, LaunchCheck(words, True)]


def _fairness(study: Study) -> list[LaunchCheck]:
    fix = reverse("people:checks", args=[study.slug])
    return [LaunchCheck(words, True, fix=fix) for words in unfair_checks(study)]
