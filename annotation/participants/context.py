"""The content of the item page: the same for annotators, in the preview and in practice."""

from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.content.texts import worked_examples
from annotation.content.wording import setting_of, wording_for
from annotation.models import Assignment, Draft
from annotation.participants.forms import AnswerForm
from annotation.participants.progress import Progress
from annotation.participants.tokens import assignment_token
from annotation.services.drafts import stamp_of
from studies.markdown import render_markdown
from studies.models import Item, Side, Study, Task
from studies.personas.profile_text import profile_for
from studies.prompts import BANDS, wording

# The definitions of the levels are expanded on this many items.
_LEVELS_OPEN = 2

_QUESTION_HEADINGS = {
    Task.PREFERENCE: _("The person asked"),
    Task.SURVEY_ANSWER: _("The person was asked"),
    Task.AUTHORSHIP: _("The person was asked"),
    Task.QUESTION_ANSWER_AUTHORSHIP: _("The question"),
}


@dataclass(frozen=True)
class DisplayedSide:
    """A response as it is shown on the screen."""

    value: str
    name: str
    text: str
    prompt: str


def displayed_sides(item: Item, shown_first: str) -> list[DisplayedSide]:
    second = Side.R2 if shown_first == Side.R1 else Side.R1
    return [
        DisplayedSide(value, str(name), response["text"], response.get("prompt") or "")
        for value, name, response in (
            ("a", _("Response A"), item.response(shown_first)),
            ("b", _("Response B"), item.response(second)),
        )
    ]


def item_context(*, item: Item, shown_first: str, form: AnswerForm, number: int) -> dict[str, Any]:
    """The persona, the question, the responses and the scale."""
    return {
        "study": item.study,
        "item": item,
        "profile": profile_for(item),
        "question_heading": _QUESTION_HEADINGS[Task(item.task)],
        "sides": displayed_sides(item, shown_first),
        "wording": wording_for(item, item.study),
        "bands": BANDS,
        "levels_open": number <= _LEVELS_OPEN,
        "ai_policy": render_markdown(item.study.ai_policy),
        "form": form,
    }


def task_context(*, assignment: Assignment, progress: Progress, form: AnswerForm) -> dict[str, Any]:
    """The item page of one assignment: the item, and its position among the annotator's items."""
    slug = assignment.item.study.slug
    position = assignment.position
    number = progress.number(position)
    # Where answers may not be changed, there is no link back to an earlier item.
    before = progress.before(position) if assignment.annotator.study.allow_changes else None
    return {
        **item_context(
            item=assignment.item, shown_first=assignment.shown_first, form=form, number=number
        ),
        "action": task_url(slug, position),
        "next_url": reverse("annotation:task", args=[slug]),
        "token": assignment_token(assignment, shown_at=timezone.now()),
        "draft_key": f"{slug}:{assignment.pk}",
        "draft_url": reverse("annotation:draft", args=[slug, position]),
        "stamp": stamp_of(assignment),
        "spent": entered(assignment)["active_ms"],
        "is_unsaved": hasattr(assignment, "annotation") and hasattr(assignment, "draft"),
        "has_answer": getattr(assignment, "annotation", None) is not None,
        "skipped": assignment.state == Assignment.State.SKIPPED,
        "skip_url": reverse("annotation:skip", args=[slug, position]),
        "number": number,
        "progress": progress,
        "offers_break": progress.offers_break(position),
        "back_url": task_url(slug, before) if before is not None else None,
    }


def task_url(slug: str, position: int) -> str:
    return reverse("annotation:task-item", args=[slug, position])


def entered(assignment: Assignment) -> dict[str, Any]:
    """The values in the form: the draft, otherwise the answer of the assignment."""
    source = getattr(assignment, "draft", None) or getattr(assignment, "annotation", None)
    if source is None:
        return {"choice": "", "certainty": "", "active_ms": 0}
    certainty = "" if source.certainty is None else str(source.certainty)
    return {
        "choice": assignment.as_displayed(source.choice) if source.choice else "",
        "certainty": certainty,
        "active_ms": source.active_ms if isinstance(source, Draft) else 0,
    }


def instructions_context(study: Study) -> dict[str, Any]:
    """The study's own instructions or the default ones, and the two worked examples."""
    return {
        "study": study,
        "own": render_markdown(study.instructions),
        "ai_policy": render_markdown(study.ai_policy),
        "task_question": wording(study.task, setting_of(study)).question,
        "examples": worked_examples(study),
        "checks_follow": study.comprehension_questions.exists()
        or Item.everything.filter(study=study, split=Item.Split.PRACTICE).exists(),
    }
