"""Prompts of the demo's items, in the product's own words and without a database."""

from demo.bundle import item_row
from demo.truth import DemoItem, World
from studies.models import Item, Persona, Study
from studies.prompts import build_prompt


def prompt_of(
    world: World,
    item: DemoItem,
    *,
    setting: str = "certainty",
    shown_first: str = "r1",
    features: list[str] | None = None,
    style: str = "sentences",
) -> str:
    row = item_row(world, item)
    persona = Persona(key=item.person.id, features=row["persona"]["features"])
    study = Study(slug="everyday-choices", persona_style=style)
    r1, r2 = row["responses"]
    stored = Item(study=study, persona=persona, question=row["question"], r1=r1, r2=r2)
    return build_prompt(stored, setting=setting, shown_first=shown_first, features=features)
