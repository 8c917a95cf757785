"""What a server is asked in wordings of the study's own, and what is stored of it."""

import pytest

from judging.models import JudgeRun, Judgment
from judging.runs import lifecycle
from judging.runs.campaigns import CampaignPlan, start_campaign
from judging.wordings import save_wording
from tests.factories import make_items, make_study, sign_in
from tests.judging.llm_server import LlmServer
from tests.judging.run_helpers import new_runs, study_of

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "{{ persona }}|{{ question_text }}|{{ response_a }}|{{ response_b }}"


def test_a_campaign_of_wordings_and_framings_asks_each_and_pays_as_the_server_counts(
    llm: LlmServer, judge
):
    study = study_of(3)
    for name in ("a", "b"):
        template = f"{name}: {TEXT}"
        save_wording(study_id=study.pk, name=name, setting="standard", template=template)
    plan = CampaignPlan(
        name="ways",
        judges=["judge"],
        wordings=["", "a", "b@1"],
        framings=["observer", "persona"],
        orders=["r1_first"],
    )

    campaign = start_campaign(study_id=study.pk, plan=plan, enqueue=False)
    for run in campaign.runs.all():
        lifecycle.work_off(run_id=run.pk)

    runs = campaign.runs.select_related("wording")
    ways = {(run.wording.reference if run.wording else "", run.framing) for run in runs}
    assert len(ways) == 6
    assert Judgment.objects.filter(run__in=runs, state="done").count() == 18
    assert len(llm.requests) == 18
    sent = [body["messages"][-1]["content"] for body in llm.requests]
    assert sum(text.startswith("a: ") for text in sent) == 6
    assert sum(run.tokens for run in JudgeRun.objects.all()) == 18 * 110


def test_the_form_of_runs_offers_the_wordings_and_plans_them(judge):
    study = make_study(slug="s")
    make_items(study, 2)
    save_wording(study_id=study.pk, name="a", setting="standard", template=TEXT)
    client = sign_in(study)
    fields = new_runs(orders="r1_first", wordings=["-", "a@1"])

    page = client.post("/studies/s/judges/new/", fields)

    assert page.status_code == 200, page.context["form"].errors
    assert page.context["form"].plan().wordings == ["", "a@1"]
    assert page.context["estimate"].runs == 2
    refused = client.post("/studies/s/judges/new/", fields | {"settings": ["tie"]})
    assert "written for the setting" in refused.content.decode()
