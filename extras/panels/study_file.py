"""panels.toml: the panels of a study, without their secrets."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

from extras.panels.forms import PanelForm, new_panel
from extras.panels.models import Panel
from extras.panels.presets import presets
from extras.panels.setup import save_panel
from studies.errors import StudyError
from studies.models import Membership, Study
from studies.money import major_units
from studies.pages.listing import role_of
from studies.study_folder import Folder, refuse_unknown, tables_of, to_toml, value_of

_FIELDS = tuple(PanelForm.Meta.fields)
_KNOWN = ("preset", "reward", *_FIELDS)


class PanelsFile:
    """The panels of a study as a file of its folder: one table for each.

    A table has the short name, the preset, and what differs from it.
    """

    name, file = "panels", "panels.toml"

    def write(self, study: Study) -> Mapping[str, str]:
        panels = Panel.objects.filter(study=study)
        tables = [_written(panel) for panel in panels]
        return {self.file: to_toml({"panels": tables})} if tables else {}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        """Add or change the panels that the file has; others stay. Secrets are not in files."""
        tables = tables_of(folder.toml(file, known=("panels",)), "panels", where=file)
        remarks = []
        for number, table in enumerate(tables, 1):
            where = f"{file}, panel {number}"
            refuse_unknown(table, _KNOWN, where=where)
            panel = _panel(study, table, where)
            before = _written(panel) if panel.pk else None
            if before is not None and before == before | table:
                continue
            if user is not None and role_of(user, study) != Membership.Role.OWNER:
                raise StudyError(f"{where}: only owners of the study add or change panels.")
            remarks += _store(panel, table, where, user)
        named = {table["name"] for table in tables}
        stays = Panel.objects.filter(study=study).exclude(name__in=named)
        return remarks + [
            f"Panel “{panel.title}” is not in {file} and stays. Remove it on its page."
            for panel in stays
        ]


def _panel(study: Study, table: Mapping[str, Any], where: str) -> Panel:
    """The stored panel with this short name, or a new one with the values of its preset."""
    name = value_of(table, "name", str, where=where)
    stored = Panel.objects.filter(study=study, name=name).first()
    if stored is not None:
        stored.study = study
        stored.preset = value_of(table, "preset", str, where=where, default=stored.preset)
        return stored
    code = value_of(table, "preset", str, where=where, default="generic")
    if code not in presets():
        raise StudyError(f"{where}: preset is “{code}”. Use one of: {', '.join(presets())}.")
    panel = new_panel(study, presets()[code])
    panel.reward = study.reward
    return panel


def _written(panel: Panel) -> dict[str, Any]:
    """What the file has of a panel: all fields but its secret."""
    values = {name: getattr(panel, name) for name in _FIELDS}
    if panel.fee_percent is None:
        del values["fee_percent"]
    else:
        values["fee_percent"] = float(panel.fee_percent)
    return {"preset": panel.preset, "reward": panel.reward, **values}


def _store(panel: Panel, table: Mapping[str, Any], where: str, user: User | None) -> list[str]:
    """Store a panel after the checks of its form; a signature waits for its secret."""
    remarks = []
    reward = value_of(table, "reward", int, where=where, default=panel.reward)
    values = {**_written(panel), **table}
    values["pay_each"] = major_units(reward, panel.study.currency)
    if "fee_percent" in values:
        values["fee_percent"] = Decimal(str(values["fee_percent"]))
    if values["signature"] and not panel.sealed_secret:
        values |= {"signature": "", "signs_returns": False}
        remarks.append(
            f"Panel “{values['title']}” has no signature yet, because secrets are not in files. "
            "Enter it on the page of the panel."
        )
    form = PanelForm(values, instance=panel)
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise StudyError(f"{where}: {name}: {errors[0]}")
    save_panel(form.filled(), user=user)
    return remarks


FILE = PanelsFile()
