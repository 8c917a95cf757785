"""Who may open the pages of adjudication, and who those of experts."""

from extras.label_models.models import Expert
from studies.models import Study

FOR_VIEWERS = {"adjudication/"}
FOR_OWNERS = {
    "adjudication/ close",
    "adjudication/ experts",
    "adjudication/ end",
    "adjudication/ rule",
    "adjudication/ send",
}
NAMED = {"adjudication/ end"}
OPEN = {"adjudicate/"}
NEEDS_DATA = r"adjudication:adjudication (close|end)|experts:"  # split items that experts have


def known(study: Study) -> dict[str, str]:
    expert = Expert.objects.create(study=study, name="known", key_hash="k")
    return {"expert_id": expert.public_id}
