"""The worker's part of an arena: draw pairs, have them written, make items of them."""

import random
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, F, Q, QuerySet, Sum

from annotation.models import Annotator
from annotation.seats import flow
from extras.arena.models import SLOW, Arena, ArenaAnswer, ArenaPair, ArenaQuestion, ArenaSystem
from judging.engine.interface import JudgeQuestion, Stopped
from judging.engine.messages import Messages, declines_to_help, from_user, without_thoughts
from judging.errors import JudgingError
from judging.models import NANO, Judge
from judging.worker.budgets import Prices, most_of, price
from judging.worker.endpoints import check_sharing, reply_limit
from judging.worker.job_requests import JobLedger, WrittenReply, count_lost_requests
from studies.errors import StudyError
from studies.importers.editing import note_change, validated
from studies.importers.files.faults import Refused
from studies.importers.items.records import CONTENT
from studies.jobs.queueing import queue
from studies.jobs.retry import start_over
from studies.jobs.runner import JobProblem, JobProgress, carry_out
from studies.models import Item, Persona, Study
from studies.personas import build_profile, profile_text
from studies.services.items import seats_changing
from studies.services.studies import change_state, lock_study, record
from studies.statements import clock
from studies.texts.normalisation import digest, storable

ASKED = (
    "{persona}Answer the question below in its own language, in at most {words} words. Begin with "
    "the answer itself, and say nothing about yourself.\n\n[Question]\n{question}"
)
PERSON = "This is the person who asks:\n{profile}\n\n"
PROMPT_SHA256 = digest([ASKED, PERSON])
_LETTERS_PER_WORD = 8  # with which a response is rarely longer than its limit
_REFUSES_WITHIN = 160  # letters: later, “I cannot” is part of an answer
REST, LONG_REST = timedelta(minutes=1), timedelta(minutes=10)
_UNUSABLE = 3  # responses in a row, after which a system rests long
_EQUAL = 10  # pairs in a row without an item although both wrote, after which an arena stops
AT_ONCE = 8  # responses of a system
_MOST_PAIRS = 40  # that one look draws
State, Answer = ArenaPair.State, ArenaAnswer.State


def messages_for(arena: Arena, question: ArenaQuestion) -> Messages:
    """What every system is asked."""
    persona = ""
    if arena.show_persona:
        study = arena.study
        profile = build_profile(question.persona, show_history=study.show_history)
        persona = PERSON.format(profile=profile_text(profile, style=study.persona_style))
    words = arena.longest // _LETTERS_PER_WORD
    return from_user(ASKED.format(persona=persona, words=words, question=question.question))


def usable(reply: str, *, longest: int, forbidden: Sequence[str] = ()) -> str:
    """The response in a reply; empty if people must not see it."""
    text = storable(without_thoughts(reply))
    folded = text.casefold()
    if len(text) > longest or declines_to_help(text[:_REFUSES_WITHIN]):
        return ""
    return "" if any(phrase in folded for phrase in forbidden) else text


def most_nano(arena: Arena, question: ArenaQuestion, judge: Judge) -> int:
    """The most that one request can cost, in billionths of a dollar."""
    unread = WrittenReply(lambda text: {})
    asked = JudgeQuestion(0, messages_for(arena, question), protocol=unread, seed=0)
    most = most_of(asked, reply_tokens=reply_limit(judge))
    return price(Prices.of(judge, Decimal(1)), most) or 0


def spent_nano(arena: Arena) -> int:
    """What was spent, with the most that requests in progress may cost."""
    used = arena.answers.aggregate(nano=Sum(F("spent_nano") + F("held_nano"), default=0))
    return int(used["nano"])


def able(arena: Arena) -> QuerySet[ArenaSystem]:
    """Systems that can be drawn now: neither out nor at rest, and not waited for too long."""
    now = clock.now()
    slow = _open_answers(arena).filter(created_at__lt=now - SLOW)
    systems = arena.systems.filter(is_out=False, judge__isnull=False, judge__is_retired=False)
    systems = systems.exclude(rests_until__gt=now).exclude(pk__in=slow.values("system"))
    return systems.select_related("judge")


def _open_answers(arena: Arena) -> QuerySet[ArenaAnswer]:
    """Responses that pairs wait for."""
    asked = (Answer.WAITING, Answer.SENT)
    return arena.answers.filter(state__in=asked, pair__state=State.OPEN)


def wake(arena: Arena | None) -> None:
    """Queue the worker's part if pairs are missing; repeats change nothing.

    Takes no lock of the study. Without a broker, the next minute does it.
    """
    if arena is None or arena.is_open or not arena.is_live or able(arena)[:2].count() < 2:
        return
    is_left = arena.pairs.filter(state=State.OPEN).exists()
    if (is_left or lacking(arena) > 0) and start_over(arena):
        from extras.arena.tasks import write_pairs

        transaction.on_commit(partial(queue, write_pairs, arena.pk))


def lacking(arena: Arena) -> int:
    """How many pairs have to be drawn now; nothing before somebody has agreed to take part."""
    study = arena.study
    here = Annotator.objects.filter(study=study, consented_at__isnull=False, is_imported=False)
    if study.state != Study.State.OPEN or not here.exists():
        return 0
    on_the_way = here.filter(state__in=flow.ACTIVE, assignments=None).count()
    wanted = -(-on_the_way // study.annotations_per_item) * study.items_per_annotator
    ready = Item.objects.filter(
        study=study, seats_needed__gt=0, seats_taken__lt=F("seats_needed")
    ).count()
    pairs = arena.pairs.all()
    now = clock.now()
    coming = pairs.filter(state=State.OPEN, created_at__gte=now - SLOW).count()
    of_hour = pairs.filter(created_at__gte=now - timedelta(hours=1)).count()
    most = min(_MOST_PAIRS, arena.per_hour - of_hour)
    return min(most, max(arena.stock, study.items_per_annotator, wanted) - ready - coming)


def run_arena(*, arena_id: int) -> Arena:
    """Have pairs written until the stock is full."""
    return carry_out(Arena, arena_id, _work, expected=(StudyError, JudgingError))


def _ask(arena: Arena, judge: Judge, rows: Sequence[ArenaAnswer]) -> None:
    """Ask one system, in a thread of its own."""
    try:
        check_sharing(arena.study, judge)
        lines = map(str.strip, arena.forbidden.casefold().splitlines())
        read = partial(usable, longest=arena.longest, forbidden=list(filter(None, lines)))
        reply = WrittenReply(lambda text: {"text": words} if (words := read(text)) else {})
        with JobLedger(arena, judge, ArenaAnswer, reply) as ledger:
            asked = ((row, row.pair.question) for row in rows)
            ledger.ask([(row, messages_for(arena, about)) for row, about in asked if about])
    finally:
        connection.close()


def _work(job: Arena, progress: JobProgress) -> dict[str, Any]:
    """Draw, ask every system in a thread of its own, and store each pair as soon as it is there."""
    count_lost_requests(job.answers.all())
    gone = Q(first__judge=None) | Q(second__judge=None) | Q(question=None)
    drop_pairs(job, job.pairs.filter(gone, state=State.OPEN), "A system or the person is gone.")
    running: dict[Future[None], ArenaSystem] = {}
    with ThreadPoolExecutor(max(1, job.systems.count()), "arena") as pool:
        while True:
            arena = Arena.objects.select_related("study").get(pk=job.pk)
            stored = store_written(arena) if written(arena).exists() else 0
            if arena.is_live and lacking(arena) > 0:
                draw_pairs(arena)
            busy = {system.pk for system in running.values()}
            # Also systems that were slow, but not those at rest.
            systems = arena.systems.exclude(pk__in=busy).exclude(rests_until__gt=clock.now())
            for system in systems.select_related("judge"):
                rows = list(_waiting(arena, system)[:AT_ONCE])
                if rows and system.judge is not None:
                    running[pool.submit(_ask, arena, system.judge, rows)] = system
            if not running:
                return {"message": f"{arena.pairs.filter(state=State.STORED).count():,} pairs."}
            progress(50, f"Responses are being written ({stored:,} pairs stored just now).")
            done, _ = wait(running, timeout=1, return_when=FIRST_COMPLETED)
            for future in done:
                _note(arena, running.pop(future), future.exception())


def _waiting(arena: Arena, system: ArenaSystem) -> QuerySet[ArenaAnswer]:
    rows = _open_answers(arena).filter(
        system=system, state=Answer.WAITING, pair__question__isnull=False
    )
    return rows.select_related("pair__question__persona").order_by("pk")


def _note(arena: Arena, system: ArenaSystem, error: BaseException | None) -> None:
    """Store why a system could not answer: it rests, and its open pairs wait for nobody."""
    rest, problem = REST, str(error)
    if error is None:
        last = system.answers.filter(state__in=(Answer.WRITTEN, Answer.FAILED), requests__gt=0)
        states = list(last.order_by("-pk").values_list("state", flat=True)[:_UNUSABLE])
        if states != [Answer.FAILED] * _UNUSABLE:
            if system.problem:
                arena.systems.filter(pk=system.pk).update(problem="", rests_until=None)
            return
        # What people must not see costs as much as what they may.
        rest, problem = LONG_REST, f"Its last {_UNUSABLE} responses were not usable."
    elif not isinstance(error, JobProblem | StudyError | JudgingError | Stopped):
        raise error
    arena.systems.filter(pk=system.pk).update(problem=problem, rests_until=clock.now() + rest)
    own = Q(first=system) | Q(second=system)
    drop_pairs(arena, arena.pairs.filter(own, state=State.OPEN), f"{system.name}: {problem}")


def drop_pairs(arena: Arena, pairs: QuerySet[ArenaPair], problem: str) -> None:
    """Make no items of these pairs, and ask nothing more for them."""
    ids = list(pairs.values_list("pk", flat=True))
    arena.pairs.filter(pk__in=ids).update(state=State.DROPPED, problem=problem[:500])
    arena.answers.filter(pair__in=ids, state=Answer.WAITING).update(state=Answer.FAILED)


@transaction.atomic
def draw_pairs(arena: Arena) -> int:
    """Draw the pairs that are missing, and return their number; stops an arena without room.

    The study is locked, so that two workers never draw for the same need.
    """
    study = lock_study(arena.study_id)
    arena.refresh_from_db()
    arena.study = study
    if not arena.is_live or (number := lacking(arena)) <= 0:
        return 0
    systems = list(able(arena))
    if len(systems) < 2:
        return 0
    rng = random.Random(f"{study.seed} {arena.pairs.count()}")  # noqa: S311  for balance
    chances = _chances(arena, systems)
    if why := _equal_pairs(arena):
        transaction.on_commit(partial(_stop, arena, why))
        return 0
    room = int((arena.budget or 0) * NANO) - spent_nano(arena) - _still_due(arena)
    for drawn in range(number):
        [(one, two, chance)] = rng.choices(chances, [weight for *_, weight in chances])
        question = _question(arena, rng)
        if question is None:
            return drawn
        room -= sum(
            most_nano(arena, question, system.judge) for system in (one, two) if system.judge
        )
        if room < 0:
            if not drawn and not _open_answers(arena).exists():
                amount = f"${Decimal(arena.budget or 0).normalize():f}"
                why = f"The budget of {amount} has no room for another pair."
                transaction.on_commit(partial(_stop, arena, why))
            return drawn
        first, second = rng.sample([one, two], 2)
        pair = ArenaPair.objects.create(
            arena=arena, question=question, first=first, second=second, chance=chance
        )
        ArenaAnswer.objects.bulk_create(
            ArenaAnswer(job=arena, pair=pair, system=system) for system in (first, second)
        )
    return number


def _still_due(arena: Arena) -> int:
    """The most that the responses cost that are drawn but not yet asked for."""
    rows = _open_answers(arena).filter(state=Answer.WAITING)
    asked = (
        (row.pair.question, row.system.judge)
        for row in rows.select_related("system__judge", "pair__question__persona")
    )
    return sum(most_nano(arena, about, judge) for about, judge in asked if about and judge)


def _question(arena: Arena, rng: random.Random) -> ArenaQuestion | None:
    """One of the questions that were asked least often."""
    asked = arena.questions.annotate(n=Count("pairs")).order_by("n", "pk")
    counts = list(asked.values_list("pk", "n"))
    if not counts:
        return None
    least = [pk for pk, n in counts if n == counts[0][1]]
    return ArenaQuestion.objects.select_related("persona").get(pk=rng.choice(least))


def _chances(
    arena: Arena, systems: Sequence[ArenaSystem]
) -> list[tuple[ArenaSystem, ArenaSystem, float]]:
    """Every pair of these systems with its probability."""
    import numpy as np

    from extras.arena.ranking import counted_answers
    from extras.arena.stats import pair_chances

    place = {system.pk: at for at, system in enumerate(systems)}
    n = len(systems)
    wins, ties, waiting = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for row in counted_answers(arena):
        if row.first in place and row.second in place:
            one, two = place[row.first], place[row.second]
            if row.choice == "tie":
                ties[one, two] += 1
                ties[two, one] += 1
            else:
                wins[(one, two) if row.choice == "r1" else (two, one)] += 1
    open_seats = arena.pairs.exclude(state=State.DROPPED).values_list(
        "first", "second", F("item__seats_needed") - F("item__answered")
    )
    for first, second, seats in open_seats:
        if first in place and second in place:
            missing = arena.study.annotations_per_item if seats is None else seats
            waiting[place[first], place[second]] += missing
            waiting[place[second], place[first]] += missing
    chances = pair_chances(wins, ties, waiting)
    return [
        (systems[one], systems[two], float(chances[one, two]))
        for one in range(n)
        for two in range(one + 1, n)
    ]


def _equal_pairs(arena: Arena) -> str:
    """Why no pair becomes an item, such as systems that write the same; empty if some do."""
    ended = arena.pairs.exclude(state=State.OPEN).exclude(answers__state=Answer.FAILED)
    if arena.opened_at is not None:
        ended = ended.filter(created_at__gte=arena.opened_at)
    last = list(ended.order_by("-pk").values_list("state", "problem")[:_EQUAL])
    if len(last) < _EQUAL or any(state == State.STORED for state, _ in last):
        return ""
    return f"The last {_EQUAL} pairs could not be shown: {last[0][1]}"


def _stop(arena: Arena, why: str) -> None:
    """Stop an arena by itself; the study pauses, and who is in it goes on."""
    if not Arena.objects.filter(pk=arena.pk, is_live=True).update(is_live=False, why_stopped=why):
        return
    record(arena.study, "arena stopped", why=why)
    change_state(study_id=arena.study_id, state=Study.State.PAUSED)


def written(arena: Arena) -> QuerySet[ArenaPair]:
    """Pairs for which nothing has to be asked any more, but that are no items yet."""
    asked = (Answer.WAITING, Answer.SENT)
    return arena.pairs.filter(state=State.OPEN).exclude(answers__state__in=asked)


@transaction.atomic
def store_written(arena: Arena) -> int:
    """Make items of pairs whose responses are both there; return their number."""
    study = lock_study(arena.study_id)
    rows = written(arena).select_related("question__persona", "first", "second").order_by("pk")
    keys = []
    with seats_changing(study):
        for pair in rows:
            texts = {answer.system_id: answer for answer in pair.answers.all()}
            same = arena.pairs.filter(pk=pair.pk)
            both = [texts[pair.first_id], texts[pair.second_id]]
            if pair.question is None or any(row.state != Answer.WRITTEN for row in both):
                drop_pairs(arena, same, "A response was not usable.")
                continue
            try:
                pair.item = _item(study, pair.question, pair, both)
            except Refused as error:
                faults = (fault.message for fault in error.faults)
                drop_pairs(arena, same, " ".join(f"{text[0].upper()}{text[1:]}" for text in faults))
                continue
            pair.state = State.STORED
            pair.save(update_fields=["item", "state"])
            keys.append(pair.item.key)
        if keys:
            note_change(study, "arena pairs stored", user=None, items=keys)
    return len(keys)


def _item(
    study: Study, question: ArenaQuestion, pair: ArenaPair, answers: Iterable[ArenaAnswer]
) -> Item:
    """Store the item of a pair. Raises `Refused` if it breaks a rule of the item format."""
    persona = question.persona
    item = Item(study=study, persona=persona, task=study.task, key=f"arena-{pair.pk}")
    names = {pair.first_id: pair.first.name, pair.second_id: pair.second.name}
    raw: dict[str, Any] = {
        "id": item.key,
        "task": study.task,
        "persona": raw_persona(persona),
        "question": question.question,
        "topic": question.topic or None,
        "group": question.key[:40],
        "responses": [
            {
                "key": side,
                "text": answer.text,
                "generated_by": {"kind": "model", "name": names[answer.system_id]},
            }
            for side, answer in zip(("r1", "r2"), answers, strict=True)
        ],
    }
    checked = validated(item, raw)
    for name in CONTENT:
        setattr(item, name, checked.values[name])
    item.content_hash = checked.content_hash
    item.save()
    return item


def raw_persona(persona: Persona) -> Mapping[str, Any]:
    return {
        "id": persona.key,
        "features": persona.features,
        "text": persona.text or None,
        "history": persona.history,
    }


def forget_texts(study: Study, items: Iterable[int]) -> None:
    """Remove the texts of items that are removed; what they cost stays."""
    ArenaAnswer.objects.filter(pair__item__in=list(items)).update(text="", reply="")
