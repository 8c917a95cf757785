"""One study for each data set of a recipe, in each variant, with its items."""

from collections.abc import Mapping
from pathlib import Path

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from analysis.errors import BadRecipe
from analysis.recipes.recipe import Data, Recipe
from studies.errors import BadOption, StudyError
from studies.importers.files.faults import Refused
from studies.importers.items.import_source import read_paths
from studies.importers.items.storage import import_items
from studies.importers.sets import data_sets
from studies.management.validation_message import explain
from studies.models.studies import Study


def slug_of(prefix: str, data: Data, variant: str, *, simulated: bool) -> str:
    """The short name of a study; answers of simulated models are kept in studies of their own."""
    name = f"{prefix}-{data.key}-{variant}"
    return f"{name}-simulated" if simulated else name


def folders(recipe: Recipe, root: Path) -> dict[str, Path]:
    """The folder of each data set below `root` that is there. Raises `BadRecipe` if none is."""
    found = {
        key: root / data.folder
        for key, data in recipe.data.items()
        if (root / data.folder).exists()
    }
    if not found:
        wanted = ", ".join(dict.fromkeys(data.folder for data in recipe.data.values()))
        raise BadRecipe(f"{root} has none of the folders {wanted}. Put each data set into its own.")
    return found


def prepare_study(
    recipe: Recipe,
    data: Data,
    variant: str,
    folder: Path,
    *,
    prefix: str,
    simulated: bool,
    given: Mapping[str, str],
    owner: User | None = None,
) -> Study:
    """The study of a data set in a variant, with all its items; the same call changes nothing.

    `given` are options that replace the recipe's. Raises `BadRecipe` with what is wrong.
    """
    sets = data_sets()
    if data.format not in sets:
        raise BadRecipe(f"data.{data.key}.format: “{data.format}” is none of {', '.join(sets)}.")
    options = {**data.options.get(variant, {}), **given}
    slug = slug_of(prefix, data, variant, simulated=simulated)
    task = sets[data.format].task
    try:
        files = read_paths([folder], format=data.format, task=task, options=options)
        result = import_items(
            slug,
            files,
            create=True,
            user=owner,
            title=f"{sets[data.format].title}, {recipe.variants[variant]} ({recipe.title})"[:200],
            task=task,
            is_simulated=simulated,
        )
    except ValidationError as error:
        raise BadRecipe(f"{slug}: {explain(error)}") from error
    except Refused as error:
        raise BadRecipe(
            f"{slug}: {error}\nIf the study was made from other files or options, keep it and give "
            "these another --prefix."
        ) from error
    except (BadOption, StudyError) as error:
        raise BadRecipe(f"{slug}: {error}") from error
    return result.study


def features_of(study: Study) -> list[str]:
    """The labels of all features that the personas of a study have."""
    labels: dict[str, str] = {}
    for features in study.personas.values_list("features", flat=True):
        for feature in features:
            labels.setdefault(feature["key"], feature["label"].lower())
    return list(labels.values())
