"""The description of a run, and which of its values are compatible."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Self

from judging import deliveries
from judging.backends.backend import INSTEAD_OF_REPLY, WITH_REPLY
from judging.bias.probe_choices import probe_choice
from judging.errors import OUT_OF_RANGE, TOO_SMALL, ConflictingValue, FailureReason, InvalidValue
from judging.models import Judge, JudgeRun
from judging.protocols import framings, registry
from judging.protocols.protocol import JudgingProtocol
from studies.media import FRAME_TYPE, is_film, media_types
from studies.models import Item, Study
from studies.prompts import base_of, language_name, prompt_languages
from studies.texts.slots import steps_of

MOST_SAMPLES = 100

_NOT_POSITIVE = FailureReason("not_positive", "{field} is {value}. Use more than 0 US dollars.")
NO_PRICE = FailureReason(
    "no_price",
    "Judge “{judge}” has no price, so {field} cannot be checked. Set its "
    "{names[price_input]} and {names[price_output]} (US dollars per million tokens; 0 for your own "
    "server), or use {names[token_budget]}.",
)
_NO_BATCHES = FailureReason(
    "no_batches", "Judge “{judge}” cannot be asked by batch. Leave {field} out."
)
_ONLY_DISCUSSED = FailureReason(
    "only_discussed",
    "{field}: “{setting}” continues from the replies of a jury. When all its judges have answered, "
    "start it at the jury on the page of its campaign.",
)
_NO_STEPS_IN_BATCHES = FailureReason(
    "steps_in_batch",
    "Setting “{setting}” needs several requests per judgment, so it cannot use a batch. Leave "
    "{field} out.",
)
_REFLECTS_IN_BATCH = FailureReason(
    "steps_in_batch",
    "A probe with +reflection needs two requests per judgment, so it cannot use a batch. Leave "
    "{field} out.",
)
_NOT_ENFORCED = FailureReason(
    "not_enforced", "{field}: nothing enforces the form of the replies of judge “{judge}”."
)
_NO_FORM = FailureReason(
    "no_form",
    "{field}: replies to “{setting}” have no structured form, which judge “{judge}” requests.",
)
_NO_READING = FailureReason("no_reading", "{field} must be strict or lenient, not “{value}”.")
_NO_PROFILE = FailureReason(
    "no_profile", "{field}: “{probe}” changes the profile, which framing “{framing}” does not show."
)


# What a run stores under the same name as `RunSpec`.
_STORED = (
    *("study_id", "judge_id", "setting", "features", "orders", "samples", "seed", "by_batch"),
    *("wording_id", "framing", "bias_probe", "prompt_language", "reading"),
)


class Reuse(StrEnum):
    """Which answers of other runs to reuse:

    none, for the same request, or for the same prompt. Requests are the same if everything sent is;
    at temperature 0 the seed does not matter.
    """

    FRESH = "fresh"
    IDENTICAL = "identical"
    SAME_PROMPT = "same_prompt"


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """The judge, the questions, and the limits of a run.

    `limit`: the number of items, in the order of their keys.
    `budget`, `token_budget`: US dollars and tokens of the whole run.
    `extend`: continue the run that had fewer samples, or only one order, and ask what is new.
    `reuse`: which answers that other runs have paid for are copied instead of asking again.
    `by_batch`: ask by files at a lower price, from this start.
    `wording_id`: the study's own wording, by the id of its `PromptTemplate`.
    `bias_probe`: a probe, as `judging.bias.probe_choices` reads it; empty for an ordinary run.
    `prompt_language`: that of the words around the items; empty for that of the study.
    `reading`: how replies are read, in a new run.
    `discusses`: the ids of the runs whose replies are shown.
    `structured`: whether replies are requested in a form; None: as the judge is set.
    """

    study_id: int
    judge_id: int
    setting: str = registry.DEFAULT
    features: str = "all"
    orders: str = JudgeRun.Orders.RANDOM
    samples: int = 1
    seed: int | None = None
    limit: int | None = None
    budget: Decimal | None = None
    token_budget: int | None = None
    extend: bool = False
    reuse: Reuse = Reuse.FRESH
    by_batch: bool = False
    wording_id: int | None = None
    framing: str = framings.OBSERVER
    bias_probe: str = ""
    prompt_language: str = ""
    reading: str = JudgeRun.Reading.LENIENT
    discusses: tuple[int, ...] = ()
    structured: bool | None = None

    @classmethod
    def of(cls, run: JudgeRun, **changes: Any) -> Self:
        """The description of a stored run, with some changes."""
        fields = {name: getattr(run, name) for name in _STORED}
        fields |= {
            "discusses": tuple(run.discusses),
            "structured": run.parameters.get("structured"),
        }
        return cls(**fields | changes)

    def check(self, judge: Judge) -> None:
        """Raise `InvalidValue`, or `ConflictingValue` if this judge does not support a value."""
        if not 1 <= self.samples <= MOST_SAMPLES:
            raise InvalidValue(
                "samples", OUT_OF_RANGE, low=1, high=MOST_SAMPLES, value=self.samples
            )
        if self.limit is not None and self.limit < 1:
            raise InvalidValue("limit", TOO_SMALL, low=1, value=self.limit)
        if self.token_budget is not None and self.token_budget < 1:
            raise InvalidValue("token_budget", TOO_SMALL, low=1, value=self.token_budget)
        if self.budget is not None:
            if not self.budget.is_finite() or self.budget <= 0:
                raise InvalidValue("budget", _NOT_POSITIVE, value=self.budget)
            if not judge.is_priced:
                raise ConflictingValue("budget", NO_PRICE, judge=judge.name)
        if self.by_batch and not (judge.capabilities.batch and deliveries.by_batch()):
            raise ConflictingValue("by_batch", _NO_BATCHES, judge=judge.name)
        if self.by_batch and registry.protocol(self.setting).steps > 1:
            raise ConflictingValue("by_batch", _NO_STEPS_IN_BATCHES, setting=self.setting)
        if self.structured and not judge.capabilities.structured:
            raise ConflictingValue("structured", _NOT_ENFORCED, judge=judge.name)
        if self.structured and not registry.protocol(self.setting).has_form:
            raise ConflictingValue("setting", _NO_FORM, setting=self.setting, judge=judge.name)
        if self.reading not in JudgeRun.Reading.values:
            raise InvalidValue("reading", _NO_READING, value=self.reading)
        if registry.protocol(self.setting).needs_others != bool(self.discusses):
            raise ConflictingValue("setting", _ONLY_DISCUSSED, setting=self.setting)
        self._check_probe()

    def _check_probe(self) -> None:
        choice = probe_choice(self.bias_probe)
        if choice.reflects and self.by_batch:
            raise ConflictingValue("by_batch", _REFLECTS_IN_BATCH)
        if choice.probe is not None and not choice.probe.has_target:
            framing = framings.framing(self.framing)
            if not framing.shows_profile:
                raise ConflictingValue(
                    "bias_probe", _NO_PROFILE, probe=choice.probe.name, framing=framing.name
                )


_NOT_TRANSLATED = FailureReason(
    "not_translated",
    "{field}: this study is in {name}, which has no prompts. Choose one of: {languages}.",
)
_NO_LANGUAGE = FailureReason(
    "no_language", "{field}: there are no prompts in “{value}”. Use one of: {languages}."
)
_NOT_IN_LANGUAGE = FailureReason(
    "not_in_language", "{field}: “{value}” has words only in these languages: {languages}."
)
_NO_CRITERIA = FailureReason(
    "no_criteria",
    "{field}: “{setting}” needs criteria, and this study has none. Add criteria under Settings.",
)
_NO_PROBABILITIES = FailureReason(
    "no_probabilities",
    "{field}: “{setting}” needs option probabilities, and judge “{judge}” does not request them. "
    "Use a judge that gives them next to the reply.",
)
_ONLY_PROBABILITIES = FailureReason(
    "only_probabilities",
    "{field}: “{setting}” reads the words of a reply, and judge “{judge}” gives only option "
    "probabilities.",
)
_NOTHING_TO_ASK = FailureReason(
    "nothing_to_ask",
    "{field}: “{setting}” cannot ask about any item of this study: {why}",
)
_MEDIA_NOT_TAKEN = FailureReason(
    "media_not_taken",
    "{field}: items of this study have {shown}, but judge “{judge}” is not set to accept {noun}. "
    "If its model does, change the judge's settings. Otherwise choose another judge.",
)
_MEDIA_NOT_SENT = FailureReason(
    "media_not_sent",
    "{field}: items of this study have files of the type {type}, which the backend {backend} "
    "cannot send. It sends {sent}. Choose another judge, or import the files in another format.",
)
_MEDIA_PROBE = FailureReason(
    "media_probe",
    "{field}: probes change texts, and items of this study have pictures, sounds or films.",
)
_MEDIA_NOUNS = {
    "image": ("takes_images", "pictures", "pictures"),
    "audio": ("takes_audio", "sounds", "sounds"),
    "video": ("takes_images", "pictures", "films, of which judges get frames as pictures"),
}
_SHOWS_NO_PROFILE = FailureReason(
    "shows_no_profile",
    "{field}: framing “{framing}” shows no profile, so features cannot be chosen. Use all.",
)
_NO_FRAMING = FailureReason(
    "no_framing", "{field}: “{setting}” addresses the model in its own way. Use observer."
)
_OTHER_STEPS = FailureReason(
    "other_steps",
    "{field}: this wording has {messages} messages, and “{setting}” asks {steps}. Write "
    "“{{{{ then }}}}” on a line of its own between the messages.",
)
_NO_OWN_SOURCES = FailureReason(
    "no_own_sources",
    "{field}: judge “{judge}” has no own responses set. First add its models, family or provider "
    "to the judge.",
)
_KEEPS_SPELLING = FailureReason(
    "keeps_spelling",
    "{field}: the wording “{wording}” keeps profiles as a file spells them, so changed profiles "
    "would differ in more than the change. Save its text as a wording of your own and use that.",
)


def language_for(study: Study, asked: str) -> str:
    """The language in which judges are asked: the one `asked` for, otherwise the study's.

    Raises `ConflictingValue` if there are no prompts in it; it is never replaced by another.
    """
    language = base_of(asked or study.language)
    if language in prompt_languages():
        return language
    languages = ", ".join(prompt_languages())
    if asked:
        raise ConflictingValue("prompt_language", _NO_LANGUAGE, value=asked, languages=languages)
    name = language_name(study.language)
    raise ConflictingValue("prompt_language", _NOT_TRANSLATED, name=name, languages=languages)


def check_combination(run: JudgeRun) -> None:
    """Raise `ConflictingValue` if a run, stored or not, has incompatible values."""
    protocol, framing = registry.protocol(run.setting), framings.framing(run.framing)
    if protocol.needs_criteria and not run.study.criteria:
        raise ConflictingValue("setting", _NO_CRITERIA, setting=protocol.name)
    if not asks_something(protocol, run.study):
        why = protocol.why_left_out
        raise ConflictingValue("setting", _NOTHING_TO_ASK, setting=protocol.name, why=why)
    protocol.check(run)
    _check_judge(run, protocol)
    _check_media(run)
    choice = probe_choice(run.bias_probe)
    if choice.asks_own and not run.judge.own_sources:
        raise ConflictingValue("bias_probe", _NO_OWN_SOURCES, judge=run.judge.name)
    if framing.name != framings.OBSERVER and not protocol.takes_framing:
        raise ConflictingValue("framing", _NO_FRAMING, setting=protocol.name)
    if not framing.shows_profile and run.features != "all":
        raise ConflictingValue("features", _SHOWS_NO_PROFILE, framing=framing.name)
    if run.wording is None:
        _check_language("setting", protocol.name, protocol.languages, run)
    else:
        _check_steps(run, protocol)
        probe = choice.probe
        changes_profile = probe is not None and not probe.has_target and not choice.asks_own
        if run.wording.exact_texts and changes_profile:
            raise ConflictingValue("bias_probe", _KEEPS_SPELLING, wording=run.wording)
    _check_language("framing", framing.name, framing.languages, run)
    _check_language("bias_probe", choice.name, choice.languages, run)


def asks_something(protocol: JudgingProtocol, study: Study) -> bool:
    """Whether the study has an item that the protocol can ask about."""
    left_out = protocol.left_out
    return not left_out or Item.objects.filter(study=study).exclude(**left_out).exists()


def _check_media(run: JudgeRun) -> None:
    judge = run.judge
    types = media_types(run.study)
    if types and run.bias_probe:
        raise ConflictingValue("bias_probe", _MEDIA_PROBE)
    for kind in types:
        takes, noun, verb = _MEDIA_NOUNS[kind.partition("/")[0]]
        sent = judge.capabilities.media
        if (FRAME_TYPE if is_film(kind) else kind) not in sent:
            raise ConflictingValue(
                "judge",
                _MEDIA_NOT_SENT,
                type=kind,
                backend=judge.backend,
                sent=", ".join(sorted(sent)) or "texts only",
            )
        if not getattr(judge, takes):
            raise ConflictingValue(
                "judge", _MEDIA_NOT_TAKEN, noun=noun, shown=verb, judge=judge.name
            )


def _check_judge(run: JudgeRun, protocol: JudgingProtocol) -> None:
    judge, setting = run.judge, protocol.name
    if judge.probabilities == INSTEAD_OF_REPLY and protocol.reads_words:
        raise ConflictingValue("setting", _ONLY_PROBABILITIES, setting=setting, judge=judge.name)
    if protocol.needs_probabilities and judge.probabilities not in (WITH_REPLY, INSTEAD_OF_REPLY):
        raise ConflictingValue("setting", _NO_PROBABILITIES, setting=setting, judge=judge.name)
    if judge.structured and not protocol.has_form:
        raise ConflictingValue("setting", _NO_FORM, setting=setting, judge=judge.name)


def _check_language(
    field: str, value: str, languages: tuple[str, ...] | None, run: JudgeRun
) -> None:
    if languages is not None and run.prompt_language not in languages:
        raise ConflictingValue(field, _NOT_IN_LANGUAGE, value=value, languages=", ".join(languages))


def _check_steps(run: JudgeRun, protocol: JudgingProtocol) -> None:
    assert run.wording is not None  # noqa: S101 - as the caller has seen
    for template in filter(None, (run.wording.template, run.wording.template_without_persona)):
        messages = len(steps_of(template))
        if messages != protocol.steps:
            raise ConflictingValue(
                "wording",
                _OTHER_STEPS,
                messages=messages,
                setting=protocol.name,
                steps=protocol.steps,
            )
