"""Judges are changed, retired and deleted on pages, by those who may; and their list."""

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.urls import reverse

from judging.models import Judge, Jury, StudyJudge
from studies.models import Membership, StudyLog
from tests.factories import make_item, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.judge_pages.pages import ADDRESS, LIST, Counted, page_of, submit, words
from tests.judging.run_helpers import judge_all, start


def test_a_judge_that_runs_have_used_keeps_its_model_and_the_runs_their_costs(
    engine, llm, settings
):
    study = make_study(slug="s")
    make_item(study=study)
    judge = make_judge(base_url=llm.url)
    unpriced = judge_all(study, judge)
    User.objects.create_superuser("root")
    admin = Client()
    admin.force_login(User.objects.get())
    change = page_of(judge, "change-judge")
    same = {"name": "judge", "base_url": llm.url, "own_sources": ""}

    page = words(admin.get(change))
    assert "Runs have used this judge, so its name, model and sampling stay as they are." in page
    assert submit(admin, change, **same, temperature="1.5", model="other").status_code == 302

    judge.refresh_from_db()
    assert (judge.model, judge.temperature, judge.price_input) == ("mock", 0.7, 10)
    run_page = reverse("judging:run", args=["s", unpriced.public_id])
    assert "Cost unknown (no price)" in words(admin.get(run_page))

    priced = judge_all(study, judge, samples=2)
    assert priced.spent_nano > 0
    before = priced.spent_nano
    submit(admin, change, **same, price_input="1", price_output="1")
    priced.refresh_from_db()
    assert priced.spent_nano == before
    response = submit(admin, change, **same | {"price_input": "", "price_output": ""})
    assert "so it cannot be removed" in words(response)


def test_parameters_that_a_server_refuses_are_left_out_by_boxes(admin, study):
    submit(admin, leave_out=["seed", "temperature"])
    judge = Judge.objects.get()
    assert judge.model_options == {"leave_out": "seed,temperature"}
    assert "Not sent seed,temperature" in words(admin.get(page_of(judge)))
    change = page_of(judge, "change-judge")
    assert admin.get(change).text.count(" checked") == 3  # the two, and the source of the key

    submit(admin, change, name="mine")

    judge.refresh_from_db()
    assert judge.model_options == {}


def test_a_change_is_in_the_log_of_every_study_whose_runs_use_the_judge(admin, study):
    judge = make_judge(base_url=ADDRESS)
    other = make_study(slug="other")
    make_item(study=other)
    start(other, judge)

    submit(admin, page_of(judge, "change-judge"), name="judge", own_sources="")

    logged = StudyLog.objects.filter(event="judge changed")
    assert set(logged.values_list("study__slug", flat=True)) == {"s", "other"}


@pytest.mark.nightly
def test_a_retired_judge_is_not_offered_and_a_used_one_not_deleted(admin, study):
    judge, unused = make_judge(base_url=ADDRESS), make_judge(name="unused", base_url=ADDRESS)
    start(study, judge)
    new = reverse("judging:new", args=["s"])
    assert 'value="judge"' in admin.get(new).text

    admin.post(page_of(judge), {"action": "retire"})
    assert 'value="judge"' not in admin.get(new).text
    assert "Retired" in words(admin.get(LIST))
    admin.post(page_of(judge), {"action": "offer"})
    assert 'value="judge"' in admin.get(new).text

    response = admin.post(page_of(judge), {"action": "delete"}, follow=True)
    assert "cannot be deleted. Retire it instead." in words(response)
    admin.post(page_of(unused), {"action": "delete"})
    assert set(Judge.objects.values_list("name", flat=True)) == {"judge"}


def test_the_creator_changes_a_judge_and_another_editor_does_not(study, settings):
    settings.JUDGE_HOSTS = ["127.0.0.1"]
    creator, other = sign_in(study), sign_in(study)
    submit(creator)
    judge = Judge.objects.get()

    assert other.get(page_of(judge, "change-judge")).status_code == 404
    assert other.post(page_of(judge), {"action": "retire"}).status_code == 404
    assert submit(creator, page_of(judge, "change-judge"), rpm="7").status_code == 302
    judge.refresh_from_db()
    assert judge.rpm == 7


def test_the_list_takes_the_same_queries_for_one_judge_and_for_many(
    editor, study, django_assert_num_queries
):
    make_judge(name="first", base_url=ADDRESS)
    editor.get(LIST)
    with connection.execute_wrapper(counter := Counted()):
        editor.get(LIST)
    one = len(counter.statements)
    for n in range(30):
        make_judge(name=f"j{n}", base_url=ADDRESS)
    with django_assert_num_queries(one):
        page = editor.get(LIST)
    assert page.text.count('data-label="Server"') == 20
    assert "Page 1 of 2" in words(page)


def test_a_judge_that_another_study_uses_is_changed_by_who_may_change_both(study, settings):
    settings.JUDGE_HOSTS = ["127.0.0.1"]
    creator = sign_in(study)
    submit(creator)
    judge = Judge.objects.get()
    other = make_study(slug="other")
    make_item(study=other)
    start(other, judge)

    assert creator.get(page_of(judge, "change-judge")).status_code == 404
    cheaper = submit(creator, page_of(judge, "change-judge"), price_input="0.1", price_output="0.1")
    assert cheaper.status_code == 404
    for action in ("retire", "remove_key", "delete"):
        assert creator.post(page_of(judge), {"action": action}).status_code == 404
    assert "add a judge like this" in words(creator.get(page_of(judge)))
    judge.refresh_from_db()
    assert (judge.price_input, judge.is_retired) == (10, False)

    assert judge.created_by is not None
    Membership.objects.create(study=other, user=judge.created_by, role="editor")
    assert submit(creator, page_of(judge, "change-judge"), rpm="7").status_code == 302


@pytest.mark.parametrize("names_it", [StudyJudge, Jury])
def test_a_design_or_a_jury_of_another_study_uses_a_judge_too(study, settings, names_it):
    settings.JUDGE_HOSTS = ["127.0.0.1"]
    creator = sign_in(study)
    submit(creator)
    judge = Judge.objects.get()
    other = make_study(slug="other")
    if names_it is Jury:
        Jury.objects.create(study=other, name="three").judges.add(judge)
    else:
        StudyJudge.objects.create(study=other, judge=judge)

    assert creator.get(page_of(judge, "change-judge")).status_code == 404


def test_the_right_to_add_judges_is_no_right_in_the_studies_that_use_them(study):
    judge = make_judge(base_url=ADDRESS)
    other = make_study(slug="other")
    make_item(study=other)
    start(other, judge)
    client = sign_in(study)
    user = User.objects.get(memberships__study=study)
    user.user_permissions.add(Permission.objects.get(codename="add_judge"))

    assert client.get(page_of(judge, "change-judge")).status_code == 404
