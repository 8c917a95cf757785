"""Certificates and labels that are being computed keep the extra on."""

import pytest

from extras.certificates.models import Certificate, Labelling
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def test_certificates_and_labels_are_finished_first():
    study = make_study()
    certificate = Certificate.objects.create(
        study=study, judge="j", signal="stated", target="majority", error=0.1, confidence=0.9
    )
    assert "are being computed" in refusal(study, "certificates")

    Certificate.objects.update(state="done")
    Labelling.objects.create(certificate=certificate)
    assert "are being computed" in refusal(study, "certificates")

    Labelling.objects.update(state="done")
    turn_off(study, "certificates")
