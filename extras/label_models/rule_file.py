"""adjudication.toml: which items of a study go to experts."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from extras.label_models.adjudicating import FIELDS, rule_of, set_rule
from extras.label_models.models import MOST_EXPERTS, Adjudication
from studies.errors import StudyError
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.study_folder import Folder, to_toml, value_of


class RuleFile:
    """The rule of a study as a file of its folder."""

    name, file = "adjudication", "adjudication.toml"

    def write(self, study: Study) -> Mapping[str, str]:
        if not Adjudication.objects.filter(study=study).exists():
            return {}
        rule = rule_of(study)
        values = {name: getattr(rule, name) for name in FIELDS}
        return {self.file: to_toml({n: value for n, value in values.items() if value is not None})}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        content = folder.toml(file, known=FIELDS)
        wanted: dict[str, Any] = {
            "no_majority": value_of(content, "no_majority", bool, where=file, default=True),
            "below": value_of(content, "below", int, where=file, default=0) or None,
            "sets": value_of(content, "sets", list, where=file, default=[]),
            "per_item": value_of(content, "per_item", int, where=file, default=1),
        }
        if wanted["below"] is not None and not 34 <= wanted["below"] <= 100:
            raise StudyError(f"{file}: below is {wanted['below']}. Use 34 to 100 percent.")
        if not 1 <= wanted["per_item"] <= MOST_EXPERTS:
            raise StudyError(f"{file}: per_item is {wanted['per_item']}. Use 1 to {MOST_EXPERTS}.")
        if not all(isinstance(name, str) for name in wanted["sets"]):
            raise StudyError(f"{file}: sets has names in quotes only.")
        rule = rule_of(study)
        is_other = wanted != {name: getattr(rule, name) for name in FIELDS}
        if is_other and user is not None and role_of(user, study) != Membership.Role.OWNER:
            raise StudyError(f"{file}: only owners change which items go to experts.")
        set_rule(study_id=study.pk, wanted=wanted, user=user)
        return []


FILE = RuleFile()
