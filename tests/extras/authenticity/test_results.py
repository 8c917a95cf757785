"""Results of Prolific's authenticity checks: stored from a file, shown, and deciding nothing."""

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import ProlificSubmission
from annotation.prolific.sync.sync import follow
from extras.authenticity.models import AuthenticityResult
from studies.held_copies import MORE, PersonIn
from tests.annotation.prolific.life import arrive, finish, published

pytestmark = pytest.mark.django_db


def test_results_of_authenticity_checks_are_shown_and_decide_nothing(study, client, prolific):
    client.force_login(User.objects.create_superuser("ada"))
    row = published(study)
    for _ in range(2):
        finish(prolific, *arrive(prolific, row))
    follow(study_id=study.pk)
    first, _ = ProlificSubmission.objects.order_by("pk")
    address = reverse("authenticity:store", args=[study.slug])

    def said(fields: dict) -> str:
        return str([*client.post(address, fields, follow=True).context["messages"]])

    def sent(text: str) -> str:
        file = SimpleUploadedFile("export.csv", text.encode("utf-8-sig"))
        return said({"file": file})

    header = "Submission id,Age,Authenticity check: LLM,Authenticity check: Bots\n"
    lines = f'{first.submission_id},31,Low,"<b>High"\nelsewhere,44,Low,Low\n'
    assert "Submissions with results now: 1. Rows of other studies: 1." in sent(header + lines)
    assert "no column for Submission id" in sent("id,Authenticity\n1,Low\n")
    assert "with “authenticity” in its name. Its columns: “Submission id”" in sent(
        "Submission id\n1"
    )
    assert "not a CSV export" in sent('Submission id,authentic\n"' + "x" * 200_000)
    assert "Choose the CSV file" in said({})

    page = client.get(reverse("people:prolific-settle", args=[study.slug])).content.decode()
    words = "Authenticity check: LLM: Low; Authenticity check: Bots: &lt;b&gt;High. Not a reason"
    assert words in page
    assert AuthenticityResult.objects.get().submission == first
    assert page.count(" checked>") + page.count(" checked ") >= 2

    sent(header + lines.replace("31,Low", "31,High"))
    assert AuthenticityResult.objects.get().words.startswith("Authenticity check: LLM: High")
    who = first.annotator
    for held in MORE:
        held.forget(PersonIn(who.study, who.pseudonym, who.created_at, None))
    assert not AuthenticityResult.objects.exists()
