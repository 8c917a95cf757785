"""A follow-up study for people, with the items that a certificate leaves to them."""

from collections import Counter

from django.contrib.auth.models import User
from django.db import transaction

from analysis.data.items.texts import item_facts
from analysis.errors import PassportError
from analysis.passports.labels import REASONS, Labels
from studies.models.studies import Study
from studies.services.studies import record
from studies.services.whole_studies.copies import copy_study

# Where an item of the new study says why it is there.
NOTE = "routed"


@transaction.atomic
def route(
    study: Study,
    labels: Labels,
    *,
    slug: str,
    title: str = "",
    answered_too: bool = False,
    by: User | None = None,
) -> Study:
    """Create a draft with the items that a certificate leaves, and return it.

    Items that already have all answers that the study wants are left out unless `answered_too`.
    The draft names the study, the passport and the reason for each item. Raises `PassportError`
    if nothing is left, or `StudyError` if the short name is taken.
    """
    facts = item_facts(study)
    left = {line.item: line for line in labels.lines if line.reason}
    keep = [key for key in left if answered_too or facts[key].answers < study.annotations_per_item]
    if not keep:
        why = (
            f"The {len(left):,} items that the certificate leaves have their answers from people "
            "already. Ask for those too if you want more answers."
            if left
            else "The certificate leaves no item to people."
        )
        raise PassportError(f"There is nothing to route. {why}")
    passport = labels.passport
    notes = {
        key: {
            NOTE: {
                "from": study.slug,
                "passport": passport.checksum,
                "judge": passport.judge,
                "reason": left[key].reason,
                "signal": left[key].signal,
            }
        }
        for key in keep
    }
    draft = copy_study(
        study_id=study.pk,
        slug=slug,
        title=title or f"{study.title}: items left to people"[:200],
        with_items=True,
        only=notes,
        by=by,
        human_sample=None,
    )
    reasons = Counter(left[key].reason for key in keep)
    draft.source = draft.source | {
        NOTE: {
            "from": study.slug,
            "passport": passport.checksum,
            "judge": passport.judge,
            "reasons": {REASONS[reason]: n for reason, n in reasons.most_common()},
        }
    }
    draft.save(update_fields=["source"])
    record(draft, "routed", user=by, of=study.slug, passport=passport.checksum, items=len(keep))
    return draft
