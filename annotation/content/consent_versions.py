"""What each annotator agreed to and was promised, whatever the study says now."""

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Count, Max, Min, OuterRef, Q, Subquery

from annotation.content.texts import ConsentText
from annotation.models import Annotator, ConsentVersion, ProlificStudy, ProlificSubmission
from annotation.models.annotators import TEST_WALK
from studies.models import Study
from studies.money import sums_in_words
from studies.services.settings import SettingsLock

# Events of the study's log and of an annotator's. Existing logs contain these texts.
AMENDED, AGREED_AGAIN = "consent amended", "agreed again"
# Terms that pages and services keep for each annotator as they agreed to them.
_RULES = ("ai_policy", "allow_changes", "machine_signs")


def keep_consent(study: Study, text: ConsentText) -> None:
    """Store the text and the terms that somebody agrees to."""
    ConsentVersion.objects.get_or_create(
        study=study,
        version=text.version,
        defaults={
            "html": text.html,
            "statements": list(text.statements),
            "terms": dict(text.terms),
        },
    )


def agreed_by(annotator: Annotator) -> ConsentVersion | None:
    """What an annotator agreed to; None before, or if its text was not stored."""
    if not annotator.consent_version:
        return None
    return ConsentVersion.objects.filter(
        study=annotator.study_id, version=annotator.consent_version
    ).first()


def with_agreed_terms(annotator: Annotator) -> Annotator:
    """The annotator with a study that has the rules they agreed to, not the current ones.

    This is for pages: do not save the study. Rules that were not stored are the current ones.
    """
    for name, value in agreed_terms(annotator).items():
        if name in _RULES:
            setattr(annotator.study, name, value)
    return annotator


def agreed_terms(annotator: Annotator) -> Mapping[str, Any]:
    """The terms that an annotator agreed to; empty before, or if they were not stored."""
    with suppress(ConsentVersion.DoesNotExist):
        if annotator.consent_version:
            return _terms(annotator.study_id, annotator.consent_version)
    return {}


def promises_less(annotator: Annotator, text: ConsentText) -> bool:
    """Whether a text promises less pay than the annotator agreed to."""
    terms = agreed_terms(annotator)
    reward, currency = terms.get("reward", 0), terms.get("currency")
    is_less = text.terms["reward"] < reward or text.terms["currency"] != currency
    return bool(reward and is_less)


@lru_cache(maxsize=1000)
def _terms(study_id: int, version: str) -> Mapping[str, Any]:
    """The terms of a version, which never change; every page of an annotator reads them."""
    terms: Mapping[str, Any] = ConsentVersion.objects.values_list("terms", flat=True).get(
        study=study_id, version=version
    )
    return terms


@dataclass(frozen=True)
class Agreed:
    """A version, how many annotators agreed to it, and when the first and the last did.

    Its `text` is None where only the hash was stored.
    """

    version: str
    people: int
    first: datetime | None
    last: datetime | None
    text: ConsentVersion | None


def agreed_versions(study: Study) -> list[Agreed]:
    """Every version that somebody agreed to, in the order of the first consent."""
    stored = {
        stored_version.version: stored_version
        for stored_version in ConsentVersion.objects.filter(study=study)
    }
    agreed = Annotator.objects.filter(study=study, consented_at__isnull=False)
    summaries = (
        agreed.exclude(consent_version="")
        .order_by()
        .values_list("consent_version")
        .annotate(n=Count("pk"), first=Min("consented_at"), last=Max("consented_at"))
        .order_by("first", "consent_version")
    )
    return [
        Agreed(version, people, first, last, stored.get(version))
        for version, people, first, last in summaries
    ]


@dataclass(frozen=True, order=True)
class PromisedPay:
    """A reward in minor units, for so many minutes."""

    currency: str
    reward: int
    minutes: int


def promised(
    studies: Collection[Study], completed: Collection[int] | None = None
) -> dict[int, Counter[PromisedPay]]:
    """How many annotators of each study completed, by study id and promised pay.

    `completed` are the ids of those who did, by default by their state now. On Prolific the reward
    is that of the study there that they took part in, or what their consent said if it is more.
    """
    paid = ProlificSubmission.objects.filter(annotator=OuterRef("pk"), prolific_study__reward__gt=0)
    done = Q(state=Annotator.State.COMPLETED) if completed is None else Q(pk__in=completed)
    rows = (
        Annotator.objects.filter(done, study__in=studies, is_imported=False)
        .exclude(exclusion_reason=TEST_WALK)
        .annotate(
            paid=Subquery(paid.values("prolific_study__reward")[:1]),
            paid_in=Subquery(paid.values("prolific_study__currency")[:1]),
        )
        .order_by()
        .values_list("study", "consent_version", "paid", "paid_in")
        .annotate(n=Count("pk"))
    )
    versions = ConsentVersion.objects.filter(study__in=studies)
    stored = {
        (study, version): terms
        for study, version, terms in versions.values_list("study", "version", "terms")
    }
    by_id = {study.pk: study for study in studies}
    counts: dict[int, Counter[PromisedPay]] = {study.pk: Counter() for study in studies}
    for pk, version, reward, currency, n in rows:
        study, terms = by_id[pk], stored.get((pk, version), {})
        agreed = terms.get("reward", study.reward if reward is None else reward)
        is_other = bool(currency) and terms.get("currency", currency) != currency
        promise = PromisedPay(
            currency or terms.get("currency", study.currency),
            agreed if reward is None else reward if is_other else max(reward, agreed),
            terms.get("minutes", study.minutes),
        )
        counts[pk][promise] += n
    return counts


def terms_of_versions(study: Study) -> dict[str, Mapping[str, Any]]:
    """The terms of each version of the consent, where stored."""
    versions = ConsentVersion.objects.filter(study=study)
    return dict(versions.values_list("version", "terms"))


def promised_to(
    study: Study, submission: ProlificSubmission, terms_of: Mapping[str, Mapping[str, Any]]
) -> tuple[str, int]:
    """The currency and reward promised to somebody on Prolific, whatever the study says now.

    The study on Prolific promises its reward, and the consent its own, by `terms_of_versions`: the
    larger one counts.
    """
    row, annotator = submission.prolific_study, submission.annotator
    version = annotator.consent_version if annotator and not row.is_follow_up else ""
    terms = terms_of.get(version, {})
    agreed = terms.get("reward", 0 if row.reward else study.reward)
    currency = row.currency or terms.get("currency", study.currency)
    if terms.get("currency", currency) != currency:
        return currency, row.reward or agreed
    return currency, max(row.reward, agreed)


def _why_pay_is_fixed(study: Study) -> str:
    """Why the pay cannot change: it stands on Prolific, or people agreed to it there."""
    if study.entry != Study.Entry.PROLIFIC:
        return ""
    drafts = Q(status__in=["", "UNPUBLISHED"])
    if ProlificStudy.objects.filter(study=study).exclude(drafts).exists():
        return "The pay is fixed, because Prolific does not change it once a study is published."
    if Annotator.objects.filter(study=study, consented_at__isnull=False).exists():
        return "The pay is fixed, because annotators have agreed to it."
    return ""


PAY_LOCK = SettingsLock("pay on Prolific", ("reward", "currency"), _why_pay_is_fixed)


def sum_in_words(counts: Mapping[PromisedPay, int], currency: str) -> str:
    """The sum of the promised rewards in each currency; zero in `currency` if there are none."""
    return sums_in_words(
        ((promise.currency, n * promise.reward) for promise, n in counts.items()), currency
    )
