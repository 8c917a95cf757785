"""One question to a judge, to see that it can be asked; nothing of it is stored as a judgment."""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from judging.backends.backend import BackendKind, JudgeSettings, key_variable
from judging.backends.model_lists import offered_models
from judging.backends.parameters import (
    CHOICE,
    FREE_TEXT,
    GRAMMAR,
    GUIDED_CHOICE,
    JSON_OBJECT,
    JSON_SCHEMA,
    differences,
)
from judging.engine.asker import (
    ONLY_IN_THOUGHTS,
    OUT_OF_THOUGHTS,
    chooses_in_thoughts,
    ran_out_of_room,
)
from judging.engine.interface import (
    AdjustedRequest,
    Backend,
    BackendFault,
    FindingBackend,
    Garbage,
    JudgeQuestion,
    Misconfigured,
    NotOffered,
    Parameters,
    RateLimited,
    Rejected,
    Reply,
    ServerError,
    TimedOut,
    Unreachable,
    Usage,
    Verdict,
)
from judging.engine.messages import as_text, looks_like_refusal
from judging.errors import JudgingError
from judging.models import Judge, JudgeRun
from judging.prompts.asking import Asking, messages_of
from judging.protocols.registry import DEFAULT, protocol
from judging.runs.costs import RunUsage
from judging.worker.endpoints import keep_found, key_refusal, kind_of, serves_key, settings_of
from studies.models import Item, Persona, Side, Study
from studies.prompts import language_or_english
from studies.services.studies import forbids_providers
from studies.statements import clock

logger = logging.getLogger(__name__)

SECONDS = 20.0  # a page waits for the reply
_MOST_ADJUSTMENTS = 6  # as many parameters can be refused, one at a time
_MOST_MODELS = 12
_LIST_SECONDS = 4.0


@dataclass(frozen=True, kw_only=True)
class ConnectionTest:
    """A question, its reply and how it was read; or the problem, and what to do about it.

    `item` is empty for the built-in sample, `dollars` is None without a price or without usage.
    `form` is the way in which the server gives structured replies, if the test looked for it.
    """

    setting: str
    item: str
    prompt: str
    reply: str = ""
    reading: str = ""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    dollars: Decimal | None = None
    latency_ms: int | None = None
    adjustments: list[str] = field(default_factory=list)
    form: str = ""
    problem: str = ""
    advice: str = ""
    detail: str = ""
    address: str = ""
    found: Mapping[str, Any] = field(default_factory=dict)  # options that the judge lacked
    others: list["ConnectionTest"] = field(default_factory=list)  # at the judge's other addresses

    @property
    def outcome(self) -> str:
        failed = self.problem or any(other.problem for other in self.others)
        return "problem" if failed else "passed"

    @property
    def form_words(self) -> str:
        return form_words(self.form)


def form_words(form: str) -> str:
    """What a test found about structured replies, in words."""
    return _FORM_WORDS.get(form, "")


_FORM_WORDS = {
    JSON_SCHEMA: "The server enforces a JSON schema: replies are requested in it.",
    JSON_OBJECT: "The server takes no JSON schema, but gives JSON objects: the schema is added to "
    "the prompt.",
    GRAMMAR: "The server takes no JSON schema, but keeps to a grammar, which is sent instead.",
    **dict.fromkeys(
        (CHOICE, GUIDED_CHOICE),
        "The server takes no JSON schema, but picks a reply from a list, which is sent instead.",
    ),
    FREE_TEXT: "The server enforces no form of the reply: it is asked for text.",
}


def run_connection_test(judge: Judge, study: Study) -> ConnectionTest:
    """Send one question of the study, or a built-in one, to every address of the judge.

    It is asked in the study's own setting. Of a judge that asks for structured replies where the
    server can, it finds out whether and how, and stores that until a run has used the judge.
    """
    setting = setting_of(study)
    item = Item.objects.filter(study=study).select_related("persona").order_by("key").first()
    if judge.providers and forbids_providers(study):
        item = None
    asked = item or _sample(study)
    language = language_or_english(study.language)
    run = JudgeRun(study=study, judge=judge, setting=setting, prompt_language=language)
    messages = messages_of(run, asked, shown_first=Side.R1)
    key = item.key if item else ""
    known = ConnectionTest(setting=setting, item=key, prompt=as_text(messages))
    if not serves_key(judge, study):
        return replace(known, problem="The judge cannot be asked.", advice=key_refusal(judge))
    seed = secrets.randbelow(2**31)
    question = JudgeQuestion(
        id=0,
        messages=messages,
        protocol=protocol(setting),
        seed=seed,
        is_lenient=True,
        closed=Asking.of(run).closed(asked) if judge.capabilities.only_probabilities else None,
    )
    with ThreadPoolExecutor(len(judge.base_urls), thread_name_prefix="testing") as pool:
        tests = pool.map(
            lambda address: _test_at(address, judge, replace(known, address=address), question),
            judge.base_urls,
        )
        first, *others = tests
    if first.form:
        form = {"way": first.form, "how": "connection test", "found_at": clock.now().isoformat()}
        unused = Judge.objects.filter(pk=judge.pk, structured=None, runs=None)
        if unused.update(reply_form=form):
            judge.reply_form = form
    if options := next((test.found for test in (first, *others) if test.found), None):
        keep_found(judge, options)
    tested = replace(first, others=others)
    problems = [test.problem for test in (first, *others) if test.problem]
    judge.test_problem = problems[0][:200] if problems else ""
    Judge.objects.filter(pk=judge.pk).update(test_problem=judge.test_problem)
    return tested


def _test_at(
    address: str, judge: Judge, known: ConnectionTest, question: JudgeQuestion
) -> ConnectionTest:
    settings = settings_of(judge, address)
    settings = replace(settings, timeout_seconds=min(SECONDS, settings.timeout_seconds))
    started = time.monotonic()
    try:
        tried = _try(judge, settings, question, protocol(known.setting).keeps_form)
    except JudgingError as error:
        return replace(known, problem="The judge cannot be asked.", advice=str(error))
    except BackendFault as fault:
        return _explained(known, fault, judge, settings)
    except Exception:
        # Not raised: a debug page would show the variables of the client, and with them the key.
        logger.exception("A connection test failed in this process.")
        return replace(
            known,
            problem="The test failed in this program.",
            advice="Tell the administrator the time. The program's log has the details.",
        )
    wanted, reply = kind_of(judge).intended_parameters(tried.settings), tried.reply
    known = replace(
        known,
        form=tried.form,
        found=tried.found,
        reply=reply.answers or reply.text,
        model=reply.model,
        latency_ms=round((time.monotonic() - started) * 1000),
        adjustments=differences(wanted.values, tried.sent.values),
    )
    if told := tried.usage:
        usage = RunUsage(told.prompt_tokens, told.completion_tokens, None)
        known = replace(
            known,
            prompt_tokens=told.prompt_tokens,
            completion_tokens=told.completion_tokens,
            dollars=usage.dollars(judge, 1, by_batch=False) if told.cost is None else told.cost,
        )
    return _read(known, question, reply, judge)


@dataclass(frozen=True)
class _Tried:
    """A reply, the settings and the parameters of its request, and the usage of all requests.

    `form` is the way in which the server gives structured replies, `found` are options that the
    judge lacked, both if they were found out.
    """

    settings: JudgeSettings
    reply: Reply
    sent: Parameters
    usage: Usage | None
    form: str = ""
    found: Mapping[str, Any] = field(default_factory=dict)


def _try(
    judge: Judge,
    settings: JudgeSettings,
    question: JudgeQuestion,
    keeps_form: Callable[[str], bool],
) -> _Tried:
    """Ask once; or in each form until the server keeps to one, of a judge that is set so."""
    kind = kind_of(judge)
    if judge.structured is not None or not kind.capabilities.structured:
        return _asked(kind, settings, question)
    end = time.monotonic() + settings.timeout_seconds
    tried: _Tried | None = None
    for form in (*kind.reply_forms(settings.base_url), FREE_TEXT):
        if form == FREE_TEXT and tried is not None and not tried.reply.is_structured:
            return replace(tried, form=form)  # the server refused the form, and was asked without
        wanted = replace(
            settings,
            structured=form != FREE_TEXT,
            reply_form=form,
            timeout_seconds=max(1.0, end - time.monotonic()),
        )
        before = tried
        try:
            tried = _asked(kind, wanted, question)
        except BackendFault as fault:
            if before is None:
                raise
            if isinstance(fault, Rejected):
                continue
            return before
        tried = replace(tried, usage=_sum(before.usage if before else None, tried.usage))
        if tried.reply.refused or tried.reply.truncated:
            return tried
        kept = tried.reply.is_structured and keeps_form(tried.reply.text)
        if kept or form == FREE_TEXT:
            return replace(tried, form=form)
    assert tried is not None  # noqa: S101 - or the first fault would have been raised
    return tried


def _asked(kind: BackendKind, settings: JudgeSettings, question: JudgeQuestion) -> _Tried:
    reply, sent, options = asyncio.run(_ask(kind.connect(settings), question))
    return _Tried(settings, reply, sent, reply.usage, found=options)


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    if one is None or other is None:
        return one or other
    cost = None if one.cost is None or other.cost is None else one.cost + other.cost
    return Usage(
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
        cost=cost,
    )


def setting_of(study: Study) -> str:
    """The protocol that asks what annotators of the study are asked."""
    return "certainty" if study.ask_certainty else DEFAULT


def _sample(study: Study) -> Item:
    persona = Persona(
        study=study,
        features=[
            {
                "key": "hobby",
                "label": "Hobby",
                "value": "repairs old bicycles",
                "text": "The person repairs old bicycles at weekends.",
            }
        ],
    )
    return Item(
        study=study,
        persona=persona,
        task=study.task,
        question="What is a good way to get to work across town?",
        r1={"text": "Cycle along the river. It takes about twenty minutes."},
        r2={"text": "Take the bus. It stops in front of the house."},
    )


async def _ask(
    make: Callable[[], Backend], question: JudgeQuestion
) -> tuple[Reply, Parameters, Mapping[str, Any]]:
    """One reply, the parameters that the server accepted, and what was found out about it."""
    backend = make()

    async def ask() -> tuple[Reply, Parameters, Mapping[str, Any]]:
        parameters = backend.parameters()
        reply = await backend.ask(question, seed=question.seed, parameters=parameters)
        return reply, parameters, backend.found if isinstance(backend, FindingBackend) else {}

    try:
        for _ in range(_MOST_ADJUSTMENTS):
            with contextlib.suppress(AdjustedRequest):
                return await ask()
        return await ask()
    finally:
        await backend.close()


def _read(
    known: ConnectionTest, question: JudgeQuestion, reply: Reply, judge: Judge
) -> ConnectionTest:
    verdict = question.read(reply.text, is_structured=reply.is_structured, is_cut=reply.truncated)
    if reply.refused or (verdict.side is None and looks_like_refusal(reply.text)):
        return replace(
            known,
            reading="refused",
            problem="The model declined to answer.",
            advice="Such replies count as missing, not as wrong. If most items are refused, choose "
            "another model.",
        )
    if verdict.side is None:
        problem, advice = _no_verdict(question, reply, judge)
        return replace(known, reading="unparseable", problem=problem, advice=advice)
    known = replace(known, reading=_words(verdict))
    if judge.capabilities.only_probabilities and reply.probabilities:
        native = 100 * max(reply.probabilities.values())
        return replace(known, reading=f"{known.reading}, native certainty {native:.1f}")
    if protocol(known.setting).asks_certainty and verdict.certainty is None and verdict.side != "C":
        return replace(
            known,
            problem="The reply states no certainty.",
            advice="The choice counts, and the certainty is missing. If this happens often, try "
            "structured output or another model.",
        )
    return known


def _words(verdict: Verdict) -> str:
    """The verdict in words; response 1 is shown first, as A."""
    side = {"A": "A (response 1)", "B": "B (response 2)", "C": "C (tie)"}[verdict.side or "C"]
    return side if verdict.certainty is None else f"{side}, certainty {verdict.certainty}"


def _no_verdict(question: JudgeQuestion, reply: Reply, judge: Judge) -> tuple[str, str]:
    """The problem with a reply that cannot be read, and what to do."""
    if ran_out_of_room(reply):
        return (
            "The model used all its tokens for thinking and gave no answer.",
            f"Raise the thinking tokens of the judge (now {judge.thinking_tokens}).",
        )
    if reply.truncated:
        return (
            "The reply was cut off before it named a response.",
            f"Raise the reply tokens of the judge (now {judge.max_tokens}).",
        )
    if reply.tool:
        return (
            f"The reply calls the tool “{reply.tool}” and says nothing.",
            "Use a model or a server without tools, or switch on structured output.",
        )
    if chooses_in_thoughts(question, reply):
        return ONLY_IN_THOUGHTS, OUT_OF_THOUGHTS
    return (
        "The reply names no response.",
        "A run asks such a question up to five times. If the model ignores the requested form, "
        "switch on structured output or choose another model.",
    )


def _explained(
    known: ConnectionTest, fault: BackendFault, judge: Judge, settings: JudgeSettings
) -> ConnectionTest:
    """A fault in plain words, with what to do about it."""
    problem, advice = explained_fault(fault, judge, settings)
    detail = fault.message if isinstance(fault, NotOffered) else str(fault)
    return replace(known, problem=problem, advice=advice, detail=detail)


def explained_fault(fault: BackendFault, judge: Judge, settings: JudgeSettings) -> tuple[str, str]:
    variable = key_variable(settings)
    is_about_key = isinstance(fault, Misconfigured) and "refuses the key" in str(fault)
    if is_about_key or fault.status in {401, 403}:
        if judge.sealed_key:
            return "The server refuses the key.", "Enter the key again on this page."
        if not variable:
            return "The server wants a key.", "Change the judge and give it a key."
        return (
            "The server refuses the key.",
            f"Check the environment variable {variable} on this server, or use another key.",
        )
    if isinstance(fault, NotOffered):
        return fault.problem, fault.advice
    if isinstance(fault, Misconfigured) and fault.status in {402, 429}:
        return "The account has no credit left.", "Add credit at the provider, then test again."
    if isinstance(fault, Misconfigured) and fault.status is None:
        return "This address is not allowed.", str(fault)
    if isinstance(fault, Misconfigured):
        offered = _offered(judge, settings)[:_MOST_MODELS]
        words = f" The server offers: {', '.join(offered)}." if offered else ""
        return (
            f"The server has no model “{judge.model}”, or nothing at this address.",
            "Check the model’s name, and the address: that of an OpenAI-compatible server ends in "
            f"/v1.{words}",
        )
    if isinstance(fault, Unreachable):
        return (
            f"No connection to {settings.base_url}.",
            "Check that the model server is running and that this server can reach it. "
            "“localhost” means the machine that shows you this page.",
        )
    if isinstance(fault, TimedOut):
        return (
            f"No reply within {settings.timeout_seconds:.0f} seconds.",
            "The server may still be loading the model, or the model thinks for long. Test again, "
            f"or start a run with a test question: runs wait {judge.timeout_seconds} seconds.",
        )
    if isinstance(fault, RateLimited):
        return (
            "The server asks us to wait.",
            "Its limit of requests is used up. Test again in a minute. Runs wait by themselves; "
            "set requests per minute if you know the limit.",
        )
    if isinstance(fault, Garbage):
        return (
            "The server answers, but not like a model.",
            "Check the address and the kind of server. The address of an OpenAI-compatible one "
            "usually ends in /v1.",
        )
    if isinstance(fault, ServerError):
        return "The server reports an error of its own.", "Test again, or look at its log."
    return "The server did not accept the question.", "Read its message below."


def _offered(judge: Judge, settings: JudgeSettings) -> list[str]:
    """The names of the models that the judge's server offers, if it says so."""
    with contextlib.suppress(BackendFault, JudgingError):
        return offered_models(kind_of(judge), settings, seconds=_LIST_SECONDS)
    return []
