"""Ready-made texts for editors to start from, and the placeholders that are still to be filled.

A placeholder is what is to be written between double square brackets, for example
[[name of the ethics board]]. While one is left in a text, the study cannot be launched.
"""

import re

from studies.models import Study
from studies.money import format_money

TEXTS = ("instructions", "consent", "debrief")
# Every field whose text annotators read.
_READ = (*TEXTS, "ai_policy", "researchers", "storage", "ethics")
_PLACEHOLDER = re.compile(r"\[\[([^\[\]]+)\]\]")

_CONSENT = """\
## Who runs this study
{researchers}

## Purpose
We study how well people, and computer programs, can judge what somebody else would prefer when \
they know only a few facts about that person. [[one sentence on what you want to find out]]

## What you do
You read {items} short profiles. For each, you say which of two texts fits the person \
better{certainty}. This takes about {minutes} minutes.

## Pay
{pay} [[what happens to the pay of people who stop early]]

## Risks and benefits
We expect no risks beyond those of everyday life. Some texts are opinions that you may not share.\
 [[other risks, or delete this sentence]] You have no direct benefit beyond the pay.

## What we keep, and for how long
We keep your answers, the time they took, and what you tell us about yourself. {storage}

## Who can know that it was you
Your answers are kept under a pseudonym. {identity} Your answers may be published for research \
under the pseudonym.

## Your choice
Taking part is voluntary. You may stop at any time by closing the page, without giving a reason. \
You may also withdraw your answers: use “Withdraw” on the pages of this study, [[until when \
answers can be withdrawn]].

## Ethics approval and contact
{ethics}
Questions or complaints: {contact}

- [ ] I am at least 18 years old.
- [ ] I have read this text and could ask questions.
- [ ] I agree that my answers are stored and used as described.
"""

_INSTRUCTIONS = """\
You read a few facts about a person, a question, and two texts. Then you choose the text that \
fits the person.

- Answer as the person would, not as you would yourself.
- Guessing from the profile is the task. There are no trick questions.
{certainty}{tie}{changes}
[[anything that is special about your items, or delete this line]]
"""

_DEBRIEF = """\
Every profile belongs to a real person who had answered the same question. We compare how often \
people, and computer programs, guess that answer from the profile, and whether their certainty \
tells when they are right.

The study measures the task, not you: some profiles say nothing about the question, and then \
nobody can know.

[[what you expected to find, and where the results will be published]]

Questions, or to withdraw your answers: {contact}
"""


def placeholders(text: str) -> list[str]:
    """What is still to be written in a text."""
    return _PLACEHOLDER.findall(text)


def unfilled(study: Study) -> dict[str, list[str]]:
    """The placeholders in each field that annotators read; fields without any are left out."""
    found = {name: placeholders(getattr(study, name)) for name in _READ}
    return {name: left for name, left in found.items() if left}


def template_for(study: Study, name: str) -> str:
    """The ready-made text for a field, with what the study's settings already say."""
    pay = format_money(study.reward, study.currency)
    hourly = format_money(study.reward * 60 / study.minutes, study.currency)
    facts = {
        "researchers": study.researchers or "[[names and institution]]",
        "storage": study.storage or "[[where the data are kept, and for how many years]]",
        "ethics": study.ethics or "[[name of the ethics board and approval number]]",
        "contact": study.contact or "[[e-mail address]]",
        "items": study.items_per_annotator,
        "minutes": study.minutes,
        "pay": f"You get {pay} ({hourly} per hour)." if study.reward else "This study is not paid.",
        "identity": _identity(study),
    }
    if name == "consent":
        certainty = ", and how certain you are" if study.ask_certainty else ""
        return _CONSENT.format(**facts, certainty=certainty)
    if name == "debrief":
        return _DEBRIEF.format(**facts)
    return _INSTRUCTIONS.format(
        certainty="- Then give a number from 1 to 100 for how certain you are. A low number is a "
        "good answer when the profile says little.\n"
        if study.ask_certainty
        else "",
        tie="- If both texts fit equally well, choose “No clear difference”.\n"
        if study.allow_tie
        else "",
        changes="- You can go back and change an answer until you finish.\n"
        if study.allow_changes
        else "",
    )


def _identity(study: Study) -> str:
    if study.entry == Study.Entry.LINK:
        return "We do not know who you are."
    return (
        "The id by which you came is kept apart from your answers, used only to arrange your pay, "
        "and never published."
    )
