"""Named sets of persona features, for ablations."""

from collections.abc import Collection, Mapping, Sequence

from studies.errors import StudyError
from studies.models import FeatureSet, Study

# The sets of the source paper. `table6` is everything its Table 6 lists; its article and its
# released code name different three features.
NAMED_SETS: dict[str, tuple[str, ...]] = {
    "table6": (
        "sex",
        "age",
        "employment",
        "education",
        "marital_status",
        "ethnicity",
        "religion",
        "birth_country",
        "residence_country",
    ),
    "three_paper": ("residence_country", "education", "ethnicity"),
    "three_code": ("age", "education", "politics"),
}


def known_keys(study: Study) -> set[str]:
    """Every feature key that a persona of `study` has."""
    return {
        feature["key"]
        for features in study.personas.values_list("features", flat=True)
        for feature in features
    }


def in_few_words(features: str, known: set[str]) -> str:
    """A short description of a choice of features for tables: sweeps name the changed feature."""
    left_out = known.difference(features.split(","))
    if "," in features and len(left_out) == 1:
        return f"all but {left_out.pop()}"
    if features in known:
        return f"{features} alone"
    return {"all": "all features", "none": "no features"}.get(features, f"features {features}")


def own_sets(study: Study) -> dict[str, list[str]]:
    """The keys of each set of features that the study has itself."""
    return dict(FeatureSet.objects.filter(study=study).values_list("name", "keys"))


def resolve(
    study: Study,
    features: str,
    *,
    known: Collection[str] | None = None,
    own: Mapping[str, Sequence[str]] | None = None,
) -> list[str] | None:
    """Turn `all`, `none`, the name of a set, or `a,b,c` into keys; None means everything.

    `known` are the keys that `known_keys` found, `own` what `own_sets` found; without them both
    are read.

    A named set keeps the keys that the study's personas have. Raises `StudyError` when a key
    or a name is unknown, or nothing of a named set is left.
    """
    if features == "all":
        return None
    if features == "none":
        return []
    known = known_keys(study) if known is None else known
    sets: dict[str, Sequence[str]] = {**NAMED_SETS, **(own_sets(study) if own is None else own)}
    if features in sets:
        keys = [key for key in sets[features] if key in known]
        if not keys:
            raise StudyError(f"No persona of “{study.slug}” has a feature of the set “{features}”.")
        return keys
    keys = [key.strip() for key in features.split(",") if key.strip()]
    if unknown := [key for key in keys if key not in known]:
        raise StudyError(
            f"No persona of “{study.slug}” has the feature “{unknown[0]}”. "
            f"Use all, none, a set ({', '.join(NAMED_SETS)}) or keys of: "
            f"{', '.join(sorted(known))}."
        )
    return keys
