"""Launch checks about annotators and what they read, for every way of recruiting."""

from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from annotation.content.comprehension import unfair_checks
from annotation.content.texts import consent_text, outdated_sentence, unfilled
from annotation.models import Invitation
from annotation.seats.assignment import LATER
from annotation.seats.capacity import people_for
from annotation.seats.flow import codes_of
from studies.models import Item, Study
from studies.pages.listing import study_figures
from studies.services.studies import LaunchCheck

# From this duration, the platform requires two failed checks before a rejection.
_LONG_STUDY = 5
# Outside this range, the share of first positions is unbalanced.
_BALANCED = (0.4, 0.6)
_FEWEST = 10


def study_checks(study: Study) -> list[LaunchCheck]:
    return [
        _attention(study),
        _contact(study),
        _codes(study),
        _consent(study),
        _placeholders(study),
        _licence(study),
        _sides(study),
    ]


def _attention(study: Study) -> LaunchCheck:
    number = Item.everything.filter(study=study, split=Item.Split.ATTENTION_CHECK).count()
    if number == 1 and study.minutes >= _LONG_STUDY:
        return LaunchCheck(
            "The study has one attention check. In a study of five minutes or more, Prolific "
            "requires two failed checks for a rejection. Add a second one or remove it.",
            True,
            fix=reverse("people:checks", args=[study.slug]),
        )
    return LaunchCheck(f"Attention checks: {number}.", False)


def _contact(study: Study) -> LaunchCheck:
    if study.contact:
        return LaunchCheck("The consent page names your contact address.", False)
    return LaunchCheck(
        "The consent page names no contact address. Add one under Texts.",
        True,
        fix=_text(study, "contact"),
    )


def _setting(study: Study, name: str) -> str:
    """The address of a field on the settings page."""
    return f"{reverse('studies:settings', args=[study.slug])}#id_{name}"


def _text(study: Study, name: str) -> str:
    """The address of a field on the page of the texts."""
    return f"{reverse('people:texts', args=[study.slug])}#id_{name}"


def _codes(study: Study) -> LaunchCheck:
    # Codes are created when first read, and the table refuses duplicates.
    return LaunchCheck(
        f"Each of the {len(codes_of(study.pk))} endings has its own completion code.", False
    )


def _placeholders(study: Study) -> LaunchCheck:
    left = unfilled(study)
    if not left:
        return LaunchCheck("The texts for annotators have no unfilled placeholders.", False)
    first = next(iter(left.values()))[0]
    number = sum(map(len, left.values()))
    words = f"{number} placeholder{'' if number == 1 else 's'} in the texts for annotators"
    return LaunchCheck(
        f"Fill in {words}, first “{first}”.",
        True,
        True,
        fix=reverse("people:texts", args=[study.slug]),
    )


def _consent(study: Study) -> LaunchCheck:
    version = consent_text(study).version[:8]
    stated, now = outdated_sentence(study)
    if stated:
        return LaunchCheck(
            f"The consent text says “{stated}” By the settings, this is now “{now}”",
            True,
            fix=_text(study, "consent"),
        )
    if study.consent.strip():
        return LaunchCheck(f"The consent text is your own, version {version}.", False)
    facts = {
        "researchers": ("who runs the study", study.researchers),
        "storage": ("where and how long answers are kept", study.storage),
        "ethics": ("the ethics approval", study.ethics),
    }
    if missing := {name: words for name, (words, value) in facts.items() if not value}:
        return LaunchCheck(
            f"The consent text is the standard one, version {version}. It does not state "
            f"{' or '.join(missing.values())}. Add this under Texts.",
            True,
            fix=_text(study, next(iter(missing))),
        )
    return LaunchCheck(
        f"The consent text is the standard one with your details, version {version}.", False
    )


def _licence(study: Study) -> LaunchCheck:
    source = study.source or {}
    licence, allowed = str(source.get("licence") or ""), source.get("redistribution")
    if allowed == "forbidden":
        words = "must not be redistributed. Make sure that you may show them to annotators"
        return LaunchCheck(f"The items ({licence or 'no licence named'}) {words}.", True)
    if allowed == "non-commercial":
        return LaunchCheck(
            f"The items ({licence}) may be shown for non-commercial purposes.", False
        )
    if licence:
        return LaunchCheck(f"The items' licence is {licence}.", False)
    return LaunchCheck(
        "The items name no licence. Make sure that you may show them to annotators, and name it "
        "in the settings.",
        True,
        fix=_setting(study, "licence"),
    )


def _sides(study: Study) -> LaunchCheck:
    fixed = Item.objects.filter(study=study).exclude(fixed_first="")
    judged = fixed.filter(first_person__in=["r1", "r2"]).values_list("fixed_first", "first_person")
    first = [first_shown == own for first_shown, own in judged]
    if len(first) < _FEWEST:
        return LaunchCheck("Both orders of the two responses occur equally often.", False)
    share = sum(first) / len(first)
    words = (
        f"In {share * 100:.0f}\u00a0% of {len(first)} items with a fixed order, the person's "
        "answer is A"
    )
    if _BALANCED[0] <= share <= _BALANCED[1]:
        return LaunchCheck(f"{words}.", False)
    return LaunchCheck(
        f"{words}: choosing always the same side is right that often. Let their order vary.", True
    )


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
    if words := next(filter(None, (later.words(study) for later in LATER.of(study))), ""):
        return LaunchCheck(words, False)
    if not figures.seats:
        fix = reverse("studies:import", args=[study.slug])
        return LaunchCheck("No item needs an answer. Import items.", True, True, fix)
    words = f"{figures.sampled:,} items need {figures.seats:,} answers"
    return LaunchCheck(f"{words}: {_needed(study):,} annotators.", False)


def _needed(study: Study) -> int:
    """The annotators who fill every seat."""
    figures = study_figures(study)
    return people_for(study, items=figures.sampled, seats=figures.seats)


def _groups(study: Study) -> list[LaunchCheck]:
    targets = list(study.quota_groups.values_list("target", flat=True))
    if not targets:
        return []
    fix = reverse("people:places", args=[study.slug])
    places, needed = sum(targets), _needed(study)
    if places < needed:
        words = f"The quota groups have {places:,} places, but the items need {needed:,} annotators"
        return [LaunchCheck(f"{words}, so some seats stay open.", True, fix=fix)]
    rest = study.quota_groups.filter(is_everyone_else=True, target__gt=0).first()
    words = f"The quota groups admit {places:,} annotators"
    if rest is not None:
        words += f", {rest.target:,} of whom match no other group"
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
