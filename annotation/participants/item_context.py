"""The content of the item page, and an annotator's progress through their items.

The content is the same for annotators, in the preview and in practice.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import median
from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotation.content.added_questions import AddedForm, added_at
from annotation.content.texts import PLACES, bands_for, setting_of, wording_for, worked_examples
from annotation.machine_signs import TRAP_CERTAINTY
from annotation.models import Annotator, Assignment, Draft, InitialAnswer
from annotation.participants.access import step_url
from annotation.participants.forms import AnswerForm, assignment_token
from annotation.participants.templates import address
from annotation.seats.flow import step_of
from annotation.seats.item_statements import answers_so_far
from annotation.services.answers import stamp_of
from studies.media import media_html
from studies.models import Item, Side, Study, Task
from studies.personas import profile_for
from studies.prompts import wording_in
from studies.statements import clock
from studies.texts.markdown import render_markdown, render_response
from studies.texts.normalisation import LONG, direction_of, reading_of
from studies.texts.slots import Profile

# This many answers are needed to estimate an annotator's pace.
_PACE_NEEDS = 5
_SKIPPED = Assignment.State.SKIPPED.value
# A break is offered after this many items, unless only a few are left.
_BREAK_EVERY, _BREAK_LEAVES = 15, 5


class ItemProgress(NamedTuple):
    """One of an annotator's items: its position, and the time its answer took."""

    position: int
    answered: bool
    milliseconds: int | None
    done: bool  # answered or skipped


@dataclass(frozen=True)
class ProgressOnItems:
    """An annotator's items in order; attention checks count too, so that none stands out."""

    places: Sequence[ItemProgress]

    @property
    def total(self) -> int:
        return len(self.places)

    @cached_property
    def answered(self) -> int:
        return len([place for place in self.places if place.answered])

    @cached_property
    def done(self) -> int:
        """How many items are answered or were skipped."""
        return len([place for place in self.places if place.done])

    @cached_property
    def next_position(self) -> int | None:
        """The first position that is neither answered nor skipped; None if all are."""
        return next((place.position for place in self.places if not place.done), None)

    def number(self, position: int) -> int:
        """The number of the item among all that the annotator sees, from 1."""
        earlier = [place for place in self.places if place.position < position]
        return min(self.total, 1 + len(earlier))

    def before(self, position: int) -> int | None:
        """The previous position, or None at the first one."""
        earlier = [place.position for place in self.places if place.position < position]
        return earlier[-1] if earlier else None

    def may_open(self, position: int) -> bool:
        """Whether the item is done or is the current one."""
        return position == self.next_position or any(
            place.done for place in self.places if place.position == position
        )

    def offers_break(self, position: int) -> bool:
        """Whether to offer a break here: the current item begins a new section."""
        is_turn = position == self.next_position
        is_mark = self.done > 0 and self.done % _BREAK_EVERY == 0
        return is_turn and is_mark and self.total - self.done >= _BREAK_LEAVES

    @cached_property
    def minutes_left(self) -> int | None:
        """The median pace times the items left; None before the pace is known and at the end."""
        times = [place.milliseconds for place in self.places if place.milliseconds is not None]
        left = self.total - self.done
        if len(times) < _PACE_NEEDS or not left:
            return None
        return max(1, math.floor(median(times) * left / 60_000 + 0.5))


def progress_of(annotator_id: int) -> ProgressOnItems:
    """The annotator's progress, in one query for any number of items.

    An item counts as answered if it has an answer, even if its seat was released after a time-out:
    an annotator who resumes does not see the item again.
    """
    return ProgressOnItems(
        [
            ItemProgress(
                position,
                answer is not None,
                elapsed if active is None else active,
                answer is not None or state == _SKIPPED,
            )
            for position, state, answer, active, elapsed in answers_so_far(annotator_id)
        ]
    )


# A phone keeps a question of up to this length in view next to a long profile.
_SHORT_QUESTION = 160

# The definitions of the levels are expanded on this many items.
_LEVELS_OPEN = 2

QUESTION_HEADINGS = {
    Task.PREFERENCE: _("The person asked"),
    Task.SURVEY_ANSWER: _("The person was asked"),
    Task.AUTHORSHIP: _("The person was asked"),
    Task.QUESTION_ANSWER_AUTHORSHIP: _("The question"),
}

OWN_QUESTION_HEADING = _("The question")

# The responses by their values in the form, in the order shown.
SIDES = (
    ("a", _("Response A")),
    ("b", _("Response B")),
    ("c", _("Response C")),
    ("d", _("Response D")),
    ("e", _("Response E")),
)
_PLACES = (_("1st"), _("2nd"), _("3rd"), _("4th"), _("5th"))


class OfferedPlace(NamedTuple):
    """A place that a response of a set can have, and whether it is selected."""

    number: int
    name: str
    is_given: bool


class DisplayedSide(NamedTuple):
    """A response as shown on the screen; `places` only if a set is ranked."""

    value: str
    name: str
    text: str
    prompt: str
    media_html: str
    places: tuple[OfferedPlace, ...] = ()


def displayed_sides(
    item: Item,
    shown_first: str,
    order: Sequence[int] | None,
    form: AnswerForm,
    media: Callable[[Collection[Mapping[str, Any]]], str],
) -> list[DisplayedSide]:
    """The two responses, or all responses of a set in `order`, which has their numbers.

    `media` shows pictures, sounds and films.
    """
    if order:
        options = item.options
        responses = [options[number - 1] for number in order]
    else:
        second = Side.R2 if shown_first == Side.R1 else Side.R1
        responses = [item.response(shown_first), item.response(second)]
    return [
        DisplayedSide(
            value,
            str(name),
            shown_text(item.study, response["text"]),
            response.get("prompt") or "",
            media(response.get("media", ())),
            places(len(responses), form.place(value)) if order else (),
        )
        for (value, name), response in zip(SIDES, responses, strict=False)
    ]


def shown_text(study: Study, response: str) -> str:
    """A response as people see it: its Markdown as layout, if the study shows that."""
    return render_response(response) if study.show_markdown else response


def places(count: int, selected: str) -> tuple[OfferedPlace, ...]:
    """The places of `count` responses; the one that is `selected` is selected."""
    return tuple(
        OfferedPlace(number, str(name), str(number) == selected)
        for number, name in enumerate(_PLACES[:count], start=1)
    )


def question_heading(task: str, *, own_answers: bool) -> Any:
    """The heading of an item's question, which names who was asked."""
    return OWN_QUESTION_HEADING if own_answers else QUESTION_HEADINGS[Task(task)]


def item_context(
    *,
    item: Item,
    shown_first: str,
    form: AnswerForm,
    number: int,
    order: Sequence[int] | None = None,
    media_address: Callable[[str], str] | None = None,
) -> dict[str, Any]:
    """The persona, the question, the responses and the scale.

    `order` are the numbers of all responses of the item's set, if the page shows them.
    `media_address` is where somebody other than a participant finds a file.
    """
    study = item.study
    media = partial(
        media_html, slug=study.slug, lang=item.lang, to_participants=True, address=media_address
    )
    sides = displayed_sides(item, shown_first, order, form, media)
    profile = None if study.asks_own_answers else profile_for(item)
    is_trap = study.sets_trap and item.split == Item.Split.ATTENTION_CHECK
    responses = item.options if order else (item.r1, item.r2)
    return {
        "study": study,
        "item": item,
        "profile": profile,
        "folded": _folded(study, profile) if study.phone_features and profile else (),
        "long": {
            "question": len(item.question) > LONG,
            # All responses are folded if one is long, so that none looks preferred.
            "responses": any(len(response["text"]) > LONG for response in responses),
        },
        "trap": TRAP_CERTAINTY if is_trap else None,
        "short_question": len(item.question) <= _SHORT_QUESTION,
        "question_heading": question_heading(item.task, own_answers=study.asks_own_answers),
        "sides": sides,
        "has_media": bool(item.all_media if order else item.shown_media),
        "ranks": bool(order),
        "levels_open": number <= _LEVELS_OPEN,
        "form": form,
        **_reading(item),
        "direction": direction_of(item.r1["text"], item.r2["text"], item.question, item.context),
        "media_html": media(item.media),
        "places_wording": PLACES,
        "setting": setting_of(study),
        "wording": wording_for(item, study),
        "bands": bands_for(own_answers=study.asks_own_answers),
        "ai_policy": render_markdown(study.ai_policy),
    }


# Fewer lines of a profile than this are not worth a press.
_FEWEST_FOLDED = 3


def _folded(study: Study, profile: Profile) -> frozenset[str]:
    """The keys of the facts that phones show only after a press; none if the profile is short."""
    keys = frozenset(fact.key for fact in profile.facts)
    hidden = keys - study.features_on_phones
    lines = len(hidden) + bool(profile.text) + len(profile.history)
    return hidden if hidden != keys and lines >= _FEWEST_FOLDED else frozenset()


def _reading(item: Item) -> dict[str, str]:
    """A folded long context: its start, and the time to read all of it."""
    reading = reading_of(item.context, item.language or item.study.language)
    if reading is None:
        return {"reading_start": "", "reading_time": ""}
    words = ngettext(
        "about %(minutes)s minute of reading",
        "about %(minutes)s minutes of reading",
        reading.minutes,
    )
    return {"reading_start": reading.start, "reading_time": words % {"minutes": reading.minutes}}


def task_context(
    *,
    assignment: Assignment,
    progress: ProgressOnItems,
    form: AnswerForm,
    earlier_ms: int | None = None,
) -> dict[str, Any]:
    """The item page of one assignment: the item, and its position among the annotator's items.

    `earlier_ms` is the active time so far if a page is shown again, by default the stored time.
    """
    slug = assignment.item.study.slug
    position = assignment.position
    number = progress.number(position)
    # If answers cannot change, there is no link back to an earlier item.
    before = progress.before(position) if assignment.annotator.study.allow_changes else None
    initial = shown_initial(assignment)
    has_answer, has_draft = (hasattr(assignment, name) for name in ("annotation", "draft"))
    values = entered(assignment)
    if earlier_ms is None:
        latest = getattr(assignment, "draft", None) or getattr(assignment, "annotation", None)
        earlier_ms = (latest.active_ms or 0) if latest else 0
    return {
        **item_context(
            item=assignment.item,
            shown_first=assignment.shown_first,
            form=form,
            number=number,
            order=assignment.option_order,
        ),
        "draft_key": f"{slug}:{assignment.pk}{':advice' if initial else ''}",
        "initial": initial,
        "spent": values["active_ms"],
        "is_unsaved": has_answer and has_draft,
        "has_answer": has_answer,
        "skipped": assignment.state == Assignment.State.SKIPPED,
        "number": number,
        "progress": progress,
        "minutes_left": _about(progress.minutes_left),
        "offers_break": progress.offers_break(position),
        "action": task_url(slug, position),
        "back_url": task_url(slug, before) if before is not None else None,
        "next_url": address("annotation:task", slug),
        "draft_url": address("annotation:draft", slug, position),
        "skip_url": address("annotation:skip", slug, position),
        "token": assignment_token(assignment, shown_at=clock.now(), earlier_ms=earlier_ms),
        "stamp": stamp_of(assignment),
    }


def _about(minutes: int | None) -> str:
    if minutes is None:
        return ""
    words = ngettext("about %(minutes)s minute left", "about %(minutes)s minutes left", minutes)
    return words % {"minutes": minutes}


def task_url(slug: str, position: int) -> str:
    return address("annotation:task-item", slug, position)


def url_at(annotator: Annotator, position: int | None) -> str:
    """The address of the item at a position; without one, of the page after the last item."""
    if position is None:
        return step_url(annotator, "feedback")
    return task_url(annotator.study.slug, position)


def next_url(annotator: Annotator) -> str:
    """The current item at its own address, so that Back goes through the items."""
    if step_of(annotator) != "task":
        return step_url(annotator)
    return url_at(annotator, progress_of(annotator.pk).next_position)


def entered(assignment: Assignment, added: Sequence[AddedForm] = ()) -> dict[str, Any]:
    """The values in the form and in those of extras: of the draft, otherwise of the answer."""
    values = _choice_entered(assignment) | _places_entered(assignment)
    for form in added:
        values |= form.entered(assignment)
    return values


def _places_entered(assignment: Assignment) -> dict[str, str]:
    """The place of each response of a whole set, by letter."""
    order = assignment.option_order
    if not order:
        return {}
    draft, answer = (getattr(assignment, name, None) for name in ("draft", "annotation"))
    if draft is not None:
        place_of = {int(number): place for number, place in (draft.places or {}).items()}
    else:
        ranking = answer.ranking["ranking"] if answer and answer.ranking else []
        place_of = {number: place for place, number in enumerate(ranking, start=1)}
    return {
        f"place_{value}": str(place_of.get(number, ""))
        for (value, _name), number in zip(SIDES, order, strict=False)
    }


def _choice_entered(assignment: Assignment) -> dict[str, Any]:
    source = getattr(assignment, "draft", None) or getattr(assignment, "annotation", None)
    source = source or initial_answer(assignment)
    if source is None:
        return {"choice": "", "certainty": "", "active_ms": 0}
    certainty = "" if source.certainty is None else str(source.certainty)
    return {
        "choice": assignment.as_displayed(source.choice) if source.choice else "",
        "certainty": certainty,
        "active_ms": source.active_ms if isinstance(source, Draft) else 0,
    }


class ShownInitial(NamedTuple):
    """An answer before the advice, with the choice as displayed: a, b or tie."""

    choice: str
    certainty: int | None


def shown_initial(assignment: Assignment) -> ShownInitial | None:
    """The answer before the advice, for the page; None if there is none yet."""
    initial = initial_answer(assignment)
    if initial is None:
        return None
    return ShownInitial(assignment.as_displayed(initial.choice), initial.certainty)


def initial_answer(assignment: Assignment) -> InitialAnswer | None:
    """The answer before the advice; None without a query for items without advice."""
    if not assignment.item.has_advice:
        return None
    return getattr(assignment, "initial_answer", None)


def forms_at(assignment: Assignment) -> Sequence[AddedForm]:
    """The forms of extras on the page of an item as it is now."""
    is_advised = initial_answer(assignment) is not None
    return added_at(assignment, after_advice=is_advised)


def instructions_context(study: Study) -> dict[str, Any]:
    """The study's own instructions or the default ones, and the two worked examples."""
    return {
        "study": study,
        "own": render_markdown(study.instructions),
        "ai_policy": render_markdown(study.ai_policy),
        "task_question": wording_in(study, study.task, setting_of(study)).question,
        "examples": worked_examples(study),
        "checks_follow": study.comprehension_questions.exists()
        or Item.everything.filter(study=study, split=Item.Split.PRACTICE).exists(),
    }
