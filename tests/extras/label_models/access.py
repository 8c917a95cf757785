"""Who may open the pages of adjudication, and who those of experts."""

from extras.label_models.models import Expert
from studies.models import Study

FOR_VIEWERS = {"adjudication/"}
FOR_OWNERS = {
    "adjudication/close/",
    "adjudication/experts/",
    "adjudication/experts/<expert_id>/end/",
    "adjudication/rule/",
    "adjudication/send/",
}
OPEN = {"adjudicate/"}
NEEDS_DATA = r"adjudication:(close|end)|experts:"  # split items that experts have


def known(study: Study) -> dict[str, str]:
    expert = Expert.objects.create(study=study, name="known", key_hash="k")
    return {"expert_id": expert.public_id}
