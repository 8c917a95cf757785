"""What the form of a campaign offers: settings, features, wordings, languages and judges."""

from judging.models import Judge
from judging.protocols import registry
from judging.runs.campaigns import SWEEPS
from judging.runs.rows.combinations import asks_something
from studies.models import Study
from studies.personas.features import NAMED_SETS, meant_by
from studies.prompts.language import base_of, is_prompt_language, language_name, prompt_languages

OWN_WORDS = "-"  # no wording can have this name and a version
_FEATURE_WORDS = {
    "all": "All features of the persona",
    "none": "No features: the question without the persona",
    "leave-one-out": "All features except one, once for each feature",
    "one-only": "One feature only, once for each feature",
}


def usual_settings(study: Study) -> list[str]:
    """The protocols that ask what annotators of the study are asked."""
    chosen = ["certainty"] if study.ask_certainty else ["standard"]
    return chosen + ["tie"] * study.allow_tie


def wordings_of(study: Study) -> list[tuple[str, str]]:
    """The words of the settings, and the versions of the study's own wordings."""
    own = study.prompt_templates.defer("exact_texts").order_by("name", "version")
    words = [(each.reference, f"{each}, for the setting “{each.setting}”") for each in own]
    return [(OWN_WORDS, "The words of the setting"), *words]


def settings_for(study: Study) -> list[tuple[str, str]]:
    """The protocols with which a study can be judged."""
    return [
        (each.name, each.description)
        for each in registry.protocols()
        if not each.needs_others
        and (study.criteria or not each.needs_criteria)
        and asks_something(each, study)
        and each.is_for(study)
    ]


def features_for(study: Study, keys: set[str]) -> list[tuple[str, str]]:
    """The parts of a persona that a run can show, whose features have these keys."""
    own = list(study.feature_sets.values_list("name", flat=True))
    named = [
        name for name, members in NAMED_SETS.items() if all(meant_by(key, keys) for key in members)
    ]
    sweeps = SWEEPS if len(keys) >= 2 else ()
    words = [(name, _FEATURE_WORDS[name]) for name in ("all", "none", *sweeps)]
    return words + [(name, f"Feature set “{name}”") for name in own + named]


def languages_for(study: Study) -> list[tuple[str, str]]:
    """The languages of prompts, that of the study first; none is chosen if it has no prompts."""
    own, named = language_name(study.language), prompt_languages()
    first = f"{own}, as in the study" if is_prompt_language(study.language) else "Choose a language"
    others = [each for each in named if each != base_of(study.language)]
    return [("", first), *((each, language_name(each)) for each in others)]


def words_of(judge: Judge) -> str:
    """The name, model and prices of a judge."""
    if judge.price_input is None or judge.price_output is None:
        return f"{judge.name}: {judge.model}, no price set"
    prices = f"${judge.price_input.normalize():f} in, ${judge.price_output.normalize():f} out"
    return f"{judge.name}: {judge.model}, {prices} per million tokens"
