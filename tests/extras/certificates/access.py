"""Who may open the pages of certificates."""

from extras.certificates.models import Certificate
from studies.models import Study

FOR_VIEWERS = {
    "certificates/",
    "certificates/<public_id>/",
    "certificates/<public_id>/?progress",
}
# They want a certificate that has a passport, and labels.
NOT_HERE = {
    "certificates/<public_id>/ label",
    "certificates/<public_id>/labels.csv",
    "certificates/<public_id>/passport.json",
    "certificates/<public_id>/ route",
}
NEEDS_DATA = r"certificates:"


def things(study: Study) -> dict[str, Certificate]:
    certificate = Certificate.objects.create(
        study=study, judge="j", signal="stated", target="majority", error=0.1, confidence=0.9
    )
    return {"certificates/": certificate}
