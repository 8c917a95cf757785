"""Who may open the pages of panels: editors see them, owners change panels and pay."""

from extras.panels.models import PaymentFile
from studies.models import Study
from tests.extras.panels.builders import make_panel

_PANEL = "people/panels/<panel_name>/"
FOR_OWNERS = {
    "people/panels/new/",
    f"{_PANEL}edit/",
    f"{_PANEL} remove",
    f"{_PANEL} files",
    f"{_PANEL}files/<file_id>/",
    f"{_PANEL} results",
}
NEEDS_DATA = "panels:(edit|panel )"
LEFT_OUT = {"owners add panels, under the lock of the study": "panels:new"}


def known(study: Study) -> dict[str, str]:
    panel = make_panel(study, "connect")
    written = PaymentFile.objects.create(panel=panel, people=1, rewards=300)
    return {"panel_name": panel.name, "file_id": str(written.pk)}
