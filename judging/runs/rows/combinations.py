"""Which ways of asking go together: setting, framing, language, wording, judge and study."""

from judging.backends.backend import INSTEAD_OF_REPLY, WITH_REPLY
from judging.bias.registry import probe_choice
from judging.errors import ConflictingValue, Reason
from judging.models import JudgeRun
from judging.protocols import framings, registry
from judging.protocols.protocol import JudgingProtocol
from studies.models import Item, Study
from studies.prompts.language import base_of, language_name, prompt_languages
from studies.texts.slots import steps_of

_NOT_TRANSLATED = Reason(
    "not_translated",
    "{field}: this study is in {name}, and there are no prompts in this language. Choose one of: "
    "{languages}.",
)
_NO_LANGUAGE = Reason(
    "no_language", "{field}: there are no prompts in “{value}”. Use one of: {languages}."
)
_NOT_IN_LANGUAGE = Reason(
    "not_in_language", "{field}: “{value}” has words only in these languages: {languages}."
)
_NO_CRITERIA = Reason(
    "no_criteria",
    "{field}: “{setting}” needs criteria, and this study has none. Add them under Settings.",
)
_NO_PROBABILITIES = Reason(
    "no_probabilities",
    "{field}: “{setting}” needs option probabilities, and judge “{judge}” does not request them. "
    "Use a judge that gives them next to the reply.",
)
_ONLY_PROBABILITIES = Reason(
    "only_probabilities",
    "{field}: “{setting}” reads the words of a reply, and judge “{judge}” gives only option "
    "probabilities.",
)
_NOTHING_TO_ASK = Reason(
    "nothing_to_ask",
    "{field}: “{setting}” cannot ask about any item of this study. Of each it says: {why}",
)
_MEDIA_NOT_TAKEN = Reason(
    "media_not_taken",
    "{field}: items of this study have {noun}, and judge “{judge}” does not say that its model "
    "takes {noun}. If it does, say so in the judge's settings. Otherwise choose another judge.",
)
_MEDIA_NOT_SENT = Reason(
    "media_not_sent",
    "{field}: items of this study have files of the type {type}, which the backend {backend} "
    "cannot send. It sends {sent}. Choose another judge, or import the files in another format.",
)
_MEDIA_PROBE = Reason(
    "media_probe", "{field}: probes change texts, and items of this study have pictures or sounds."
)
_MEDIA_NOUNS = {"image": ("takes_images", "pictures"), "audio": ("takes_audio", "sounds")}
_NO_FORM = Reason(
    "no_form",
    "{field}: replies to “{setting}” have no structured form, which judge “{judge}” requests.",
)
_SHOWS_NO_PROFILE = Reason(
    "shows_no_profile",
    "{field}: framing “{framing}” shows no profile, so features cannot be chosen. Use all.",
)
_NO_FRAMING = Reason(
    "no_framing", "{field}: “{setting}” has its own way to address a model. Use observer."
)
_OTHER_STEPS = Reason(
    "other_steps",
    "{field}: this wording has {found} messages, and “{setting}” asks {steps}. Write "
    "“{{{{ then }}}}” on a line of its own between the messages.",
)
_NO_OWN_SOURCES = Reason(
    "no_own_sources",
    "{field}: judge “{judge}” does not say which responses are its own. Add its models, family or "
    "provider to the judge first.",
)
_KEEPS_SPELLING = Reason(
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
    """Raise `ConflictingValue` if a run, which need not be stored, cannot be asked as it says."""
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
    """Whether the judge can be sent the pictures and sounds of the study."""
    judge = run.judge
    types = run.study.media_types
    if types and run.bias_probe:
        raise ConflictingValue("bias_probe", _MEDIA_PROBE)
    for kind in types:
        takes, noun = _MEDIA_NOUNS[kind.partition("/")[0]]
        sent = judge.capabilities.media
        if kind not in sent:
            raise ConflictingValue(
                "judge",
                _MEDIA_NOT_SENT,
                type=kind,
                backend=judge.backend,
                sent=", ".join(sorted(sent)) or "texts only",
            )
        if not getattr(judge, takes):
            raise ConflictingValue("judge", _MEDIA_NOT_TAKEN, noun=noun, judge=judge.name)


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
        found = len(steps_of(template))
        if found != protocol.steps:
            raise ConflictingValue(
                "wording", _OTHER_STEPS, found=found, setting=protocol.name, steps=protocol.steps
            )
