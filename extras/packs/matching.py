"""Finds the pack request of each raw reply, and refuses foreign replies."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from extras.packs.folder import CustomId
from extras.packs.models import Pack
from extras.packs.raw_replies import RawReply
from judging.engine.interface import BackendFault as RequestFault
from judging.engine.interface import JudgeQuestion
from judging.models import Attempt, Judgment
from judging.protocols.registry import protocol
from studies.importers.files.faults import Fault, Faults
from studies.models import Study

_PORTION = 2_000
_LIMITS = ("max_tokens", "max_completion_tokens")  # two names of one parameter


@dataclass
class Matched:
    """The replies that are new, by judgment, and how many were imported before."""

    new: dict[int, RawReply] = field(default_factory=dict)
    known: int = 0
    faults: Faults = field(default_factory=Faults)


class _Asked(NamedTuple):
    """A request of a pack in the ledger, with its judgment."""

    judgment: int
    number: int
    run: str
    prompt_sha256: str
    sample: int
    setting: str
    outcome: str
    text: str
    request_id: str
    parameters: Mapping[str, Any]
    is_waiting: bool


_COLUMNS = (
    "judgment",
    "number",
    "judgment__run__public_id",
    "judgment__prompt_sha256",
    "judgment__sample",
    "judgment__run__setting",
    "outcome",
    "text",
    "request_id",
    "sent_with__parameters",
    "judgment__state",
    "judgment__lease",
)


def match(study: Study, replies: Sequence[RawReply], *, run: str = "") -> Matched:
    """Match replies with the requests of the study's packs.

    Matches by the name of the request if the reply has it, otherwise by the prompt: then `run` is
    the public id of the run, needed if several wait for the same prompt.
    """
    matched = Matched()
    packs = Pack.objects.filter(run__study=study, state=Pack.State.WAITING)
    waiting = set(packs.values_list("public_id", flat=True))
    named, others = [], []
    for reply in replies:
        name = CustomId.read(reply.custom_id)
        if name is not None:
            named.append((name, reply))
        elif reply.prompt_sha256:
            others.append(reply)
        else:
            matched.faults.append(_foreign(reply))
    _match_by_name(study, named, waiting, matched)
    _match_by_prompt(study, others, waiting, run, matched)
    return matched


def _match_by_name(
    study: Study, named: list[tuple[CustomId, RawReply]], waiting: set[str], matched: Matched
) -> None:
    asked = {
        (row.judgment, row.number): row
        for some in _portions({name.judgment for name, _ in named})
        for row in _rows(study, waiting, judgment__in=some)
    }
    seen: dict[CustomId, RawReply] = {}
    for name, reply in named:
        row = asked.get((name.judgment, name.attempt))
        if row is None or row.run != name.run:
            matched.faults.append(_foreign(reply))
        elif first := seen.get(name):
            matched.faults.append(_doubled(reply, first))
        else:
            seen[name] = reply
            if not name.is_about(row.prompt_sha256) or _has_other_prompt(row, reply):
                matched.faults.append(_other_prompt(reply))
            else:
                _take(row, reply, matched)


def _match_by_prompt(
    study: Study, replies: list[RawReply], waiting: set[str], run: str, matched: Matched
) -> None:
    """Assign replies to a prompt, in order, to the samples that wait for one."""
    if not replies:
        return
    open_by_prompt: dict[str, list[_Asked]] = defaultdict(list)
    known: dict[str, _Asked] = {}
    for some in _portions({reply.prompt_sha256 for reply in replies}):
        for row in _rows(study, waiting, judgment__prompt_sha256__in=some):
            if row.request_id:
                known[row.request_id] = row
            if row.is_waiting and run in ("", row.run):
                open_by_prompt[row.prompt_sha256].append(row)
    seen: dict[str, RawReply] = {}
    for reply in replies:
        if first := seen.get(reply.identity):
            matched.faults.append(_doubled(reply, first))
            continue
        seen[reply.identity] = reply
        if there := known.get(reply.identity):
            _take(there, reply, matched)
            continue
        rows = open_by_prompt[reply.prompt_sha256]
        if len(runs := {row.run for row in rows}) > 1:
            matched.faults.append(_several_runs(reply, runs))
        elif not rows:
            matched.faults.append(_no_question(reply))
        else:
            _take(rows.pop(0), reply, matched)


def _rows(study: Study, waiting: set[str], **which: Any) -> Iterator[_Asked]:
    """Requests of the study's runs that have packs, including closed packs."""
    runs = Pack.objects.filter(run__study=study).values("run")
    attempts = Attempt.objects.filter(judgment__run__in=runs, **which)
    attempts = attempts.order_by("judgment__sample", "judgment", "number")
    for row in attempts.values_list(*_COLUMNS).iterator():
        *columns, parameters, state, lease = row
        asked = _Asked._make([*columns, parameters or {}, False])
        is_leased = state == Judgment.State.LEASED and lease in waiting
        yield asked._replace(is_waiting=is_leased and asked.outcome == Attempt.Outcome.SENT)


def _portions(values: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(sorted(values))
    while some := list(islice(rest, _PORTION)):
        yield some


def _take(row: _Asked, reply: RawReply, matched: Matched) -> None:
    """Keep a reply that its request waits for; count an already imported one."""
    if differs := _other_parameter(row, reply):
        matched.faults.append(_other_conditions(reply, *differs))
    elif row.is_waiting and row.judgment in matched.new:
        matched.faults.append(_doubled(reply, matched.new[row.judgment]))
    elif row.is_waiting:
        matched.new[row.judgment] = reply
    elif _is_same(row, reply):
        matched.known += 1
    elif row.outcome == Attempt.Outcome.EXPIRED:
        matched.faults.append(_discarded(reply))
    else:
        matched.faults.append(_replied_otherwise(reply))


def _is_same(row: _Asked, reply: RawReply) -> bool:
    """Whether the ledger has exactly this reply."""
    question = JudgeQuestion(id=row.judgment, messages=(), protocol=protocol(row.setting), seed=0)
    is_structured = "response_format" in row.parameters
    try:
        read = reply.as_batch_line().read(question, is_structured=is_structured)
    except RequestFault as fault:
        return row.outcome == ("expired" if reply.expired else fault.outcome)
    return row.outcome == Attempt.Outcome.REPLIED and row.text == read.text


def _has_other_prompt(row: _Asked, reply: RawReply) -> bool:
    return reply.prompt_sha256 not in ("", row.prompt_sha256)


def _other_parameter(row: _Asked, reply: RawReply) -> tuple[str, Any, Any] | None:
    """A parameter that differs according to the reply, with both values."""
    for name, value in reply.stated.items():
        for wanted in _LIMITS if name in _LIMITS else (name,):
            if wanted in row.parameters and row.parameters[wanted] != value:
                return name, value, row.parameters[wanted]
    return None


def _foreign(reply: RawReply) -> Fault:
    return reply.fault(
        "not of this study",
        f"“{reply.custom_id[:80]}” is not the name of a request of a pack of this study.",
        "Import the reply into the study that wrote the pack, and keep custom_id unchanged.",
        value=reply.custom_id,
    )


def _doubled(reply: RawReply, first: RawReply) -> Fault:
    there = first.where if first.file == reply.file else f"{first.where} of {first.file}"
    return reply.fault(
        "doubled reply",
        f"there is an earlier reply to the same request at {there}.",
        "Keep one of them: if they differ, the one that was written first.",
        value=reply.custom_id,
    )


def _other_prompt(reply: RawReply) -> Fault:
    return reply.fault(
        "another prompt",
        "the reply is to a different prompt than the pack's request.",
        "Send the pack's requests unchanged. If the study has changed since, write a new pack.",
        value=reply.custom_id,
    )


def _several_runs(reply: RawReply, runs: set[str]) -> Fault:
    return reply.fault(
        "several runs",
        f"{len(runs)} runs have this prompt.",
        f"Name the run: {', '.join(sorted(runs))}.",
    )


def _no_question(reply: RawReply) -> Fault:
    return reply.fault(
        "another prompt",
        "no open request of a pack has this prompt.",
        "Send each prompt unchanged, and as often as it is in the pack.",
    )


def _other_conditions(reply: RawReply, name: str, value: Any, wanted: Any) -> Fault:
    return reply.fault(
        "another parameter",
        f"the reply was made with {name} {value}, but the pack requires {wanted}.",
        "Use the parameters in the manifest of the pack.",
        value=str(value),
    )


def _discarded(reply: RawReply) -> Fault:
    return reply.fault(
        "discarded pack",
        "its pack was discarded, or the batch expired before it was answered.",
        "Leave the reply out. Write a new pack if the question is still open.",
        value=reply.custom_id,
    )


def _replied_otherwise(reply: RawReply) -> Fault:
    return reply.fault(
        "another reply",
        "this request already has a different reply.",
        "Leave this reply out. The first imported one counts.",
        value=reply.custom_id,
    )
