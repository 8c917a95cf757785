"""A linked study in which people and judges answer with a debate, with one adviser, or alone."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext, override

from extras.advice.arguing import SOURCE, models_of, openings, transcripts
from extras.advice.models import Argument, ArgumentJob, Arm, BeliefSource
from studies.errors import StudyError
from studies.exporters.items import raw_item
from studies.importers.items.twins import key_with, store_twin
from studies.media import keeper
from studies.models import Item, Persona, Study
from studies.services.items import seat_items, study_content_hash
from studies.services.related_studies import AssociatedStudy
from studies.services.studies import record
from studies.services.whole_studies import copy_study
from studies.texts.languages import page_language

_LONGEST = f":{max(Arm.values, key=len)}"


def key_in(key: str, arm: str) -> str:
    """The key of an item's version in an arm; long keys are cut to the same place in each arm."""
    return key_with(key, _LONGEST).removesuffix(_LONGEST) + f":{arm}"


def item_and_arm(key: str) -> tuple[str, str]:
    """What all versions of an item share of their keys, and the arm of this one."""
    stem, _, arm = key.rpartition(":")
    return stem, arm


class OneArm:
    """Everybody gets an item in one arm, and all arms equally often.

    Each version has its own seats, so that every arm of an item gets as many answers.
    """

    name = SOURCE

    def versions(self, study: Study) -> int:
        return len(study.source[SOURCE]["arms"]) if SOURCE in study.source else 0

    def pick(self, items: Sequence[Item], wanted: int, *, besides: Iterable[Item]) -> list[Item]:
        """Of the least covered items, those in the arm that the person has least often so far."""
        taken: set[str] = set()
        arms: Counter[str] = Counter()
        for item in besides:
            stem, arm = item_and_arm(item.key)
            taken.add(stem)
            arms[arm] += 1
        picked: list[Item] = []
        left = [(item, *item_and_arm(item.key)) for item in items]
        while len(picked) < wanted and (left := [place for place in left if place[1] not in taken]):
            item, stem, arm = min(left, key=lambda place: (place[0].seats_taken, arms[place[2]]))
            picked.append(item)
            taken.add(stem)
            arms[arm] += 1
        return picked


ONE_ARM = OneArm()


def needed(study: Study) -> Iterator[str]:
    """What has to end before advice can be turned off."""
    if ArgumentJob.objects.filter(study=study, state__in=ArgumentJob.OPEN).exists():
        yield "A judge is writing arguments. Wait until it has finished."
    if study.is_under_way and SOURCE in study.source:
        yield "Everybody gets an item in one arm only. Close the study first."


@transaction.atomic
def arms_study(
    *,
    job: ArgumentJob,
    slug: str,
    title: str = "",
    beliefs: Study | None = None,
    by: User | None = None,
) -> Study:
    """Create a draft with every item of a job in each arm, as far as all its arguments exist.

    The arguments are part of its items, which no longer change once somebody has been given one.
    `beliefs` is a study in which the same people answer for themselves. Raises `StudyError` if
    there is no such item or the short name is taken.
    """
    arguments = transcripts(job)
    if not arguments:
        raise StudyError("No item has all its arguments yet. Write the rest first.")
    if beliefs is not None and not beliefs.asks_own_answers:
        raise StudyError(
            f"In “{beliefs.slug}”, people do not answer for themselves, so it does not say what "
            "they believe."
        )
    study = job.study
    arms = [Arm.NONE.value, *sorted({arm for of_item in arguments.values() for arm in of_item})]
    copy = copy_study(
        study_id=study.pk,
        slug=slug,
        title=title or f"{study.title}: with and without debate"[:200],
        with_items=True,
        only={key: {} for key in arguments},
        by=by,
        human_sample=None,
        items_per_annotator=min(study.items_per_annotator, len(arguments)),
    )
    personas = {persona.key: persona for persona in Persona.objects.filter(study=copy)}
    items = {item.key: item for item in Item.objects.filter(study=copy).select_related("persona")}
    media = keeper().stored(copy)
    for key in sorted(arguments):
        raw, item = raw_item(items[key]), items[key]
        item.study = copy
        advice = {arm: advice_of(item, arm, rows) for arm, rows in arguments[key].items()}
        item.delete()
        for arm in arms:
            note = {"item": key, "models": models_of(arguments[key].get(arm, ()))}
            version = {
                "id": key_in(key, arm),
                "group": raw["group"] or key,
                "advice": advice.get(arm),
                "metadata": raw["metadata"] | {SOURCE: note},
            }
            store_twin(copy, raw | version, personas, media)
    left_out = job.arguments.values("item_key").distinct().count() - len(arguments)
    drawn = {"items": len(arguments), "left_out": left_out, "arms": arms, "rounds": job.rounds}
    judges = [name for name in (job.judge_name, job.second_name) if name]
    copy.source = copy.source | {SOURCE: {"from": study.slug, "judges": judges} | drawn}
    seat_items(copy)
    copy.content_hash = study_content_hash(copy)
    copy.save(update_fields=["source", "content_hash"])
    if beliefs is not None:
        BeliefSource.objects.create(study=copy, beliefs=beliefs)
    record(copy, "arms", user=by, of=study.slug, arguments=job.public_id, **drawn)
    return copy


def with_beliefs(study: Study) -> list[AssociatedStudy]:
    """The studies whose people say what they believe in this one, and the other way."""
    links = BeliefSource.objects.filter(Q(beliefs=study) | Q(study=study))
    return [
        AssociatedStudy(link.study, "gives its people advice")
        if link.beliefs_id == study.pk
        else AssociatedStudy(link.beliefs, "in which its people say what they believe")
        for link in links.select_related("study", "beliefs").order_by("pk")
    ]


def advice_of(item: Item, arm: str, rows: Sequence[Argument]) -> Mapping[str, str]:
    """The arguments of an arm as the item's advice, labelled as written by models.

    Responses are named by their first words, because each person sees them in another order.
    """
    begins = openings(item) or {}
    with override(page_language(item.lang)):
        if arm == Arm.CONSULTANCY:
            title = gettext("An AI model argues for one response")
            words = gettext(
                "An AI model wrote this. It was told to argue for one of the responses, whether or "
                "not it is the better one: the response that begins “%(begins)s”."
            )
            parts = [words % {"begins": begins[rows[0].side]}, *(row.text for row in rows)]
        else:
            title = gettext("Two AI models debate")
            parts = [
                gettext(
                    "Two AI models wrote this. Each was told to argue for one of the responses, "
                    "whether or not it is the better one."
                )
            ]
            for side, speaker in sorted({(row.side, row.speaker) for row in rows}, key=_speaker):
                words = gettext(
                    "Speaker %(speaker)s argues for the response that begins “%(begins)s”."
                )
                parts.append(words % {"speaker": speaker, "begins": begins[side]})
            spoken = gettext("Speaker %(speaker)s: %(text)s")
            parts += [spoken % {"speaker": row.speaker, "text": row.text} for row in rows]
    favors = rows[0].side if arm == Arm.CONSULTANCY else ""
    return {"title": title, "text": "\n\n".join(parts), "kind": str(arm), "favors": favors}


def _speaker(of: tuple[str, int]) -> int:
    return of[1]
