"""Researchers' pages: who may see and change what, and what the pages say."""

import base64
import re

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from studies.models import Item, Membership, Study
from studies.services.studies import record
from tests.factories import make_item, make_persona, make_study
from tests.studies.files import jsonl, raw_item

pytestmark = pytest.mark.django_db
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def study():
    return make_study(slug="one", title="Everyday choices")


def sign_in(client, study=None, role="owner", **fields):
    user = User.objects.create_user(f"user-{User.objects.count()}", **fields)
    if study is not None:
        Membership.objects.create(user=user, study=study, role=role)
    client.force_login(user)
    return user


def test_somebody_elses_study_is_not_in_your_list(client, study):
    sign_in(client)

    assert "Everyday choices" not in client.get(reverse("studies:list")).text


def addresses(item="i1"):
    return [
        reverse("studies:detail", args=["one"]),
        reverse("studies:import", args=["one"]),
        reverse("studies:items", args=["one"]),
        reverse("studies:item", args=["one", item]),
    ]


def test_an_editor_pauses_opens_and_closes(client, study):
    user = sign_in(client, study, role="editor")

    for state in ("paused", "open", "closed"):
        response = client.post(
            reverse("studies:detail", args=["one"]),
            {"action": "state", "state": state},
            follow=True,
        )
        assert f"The study is {state}." in response.content.decode()

    study.refresh_from_db()
    assert study.state == "closed"
    assert set(study.log.values_list("user", "event")) == {(user.pk, "state")}


@pytest.mark.parametrize(
    ("before", "state", "status", "said"),
    [
        ("open", "draft", 400, "Choose open, paused or closed."),
        ("open", "", 400, "Choose open, paused or closed."),
        ("draft", "paused", 200, "A study that is draft cannot become paused."),
    ],
)
def test_an_impossible_change_of_state_is_refused(client, before, state, status, said):
    study = make_study(slug="one", state=before)
    sign_in(client, study)

    response = client.post(
        reverse("studies:detail", args=["one"]), {"action": "state", "state": state}, follow=True
    )

    assert response.status_code == status
    assert said in response.content.decode()
    study.refresh_from_db()
    assert study.state == before


def test_the_list_filters_sorts_and_exports(client, study):
    make_item(study=study, seats_taken=2, answered=2)
    other = make_study(slug="two", title="=Pilot", state="paused")
    user = sign_in(client, study)
    Membership.objects.create(user=user, study=other)
    address = reverse("studies:list")

    def titles(query):
        rows = client.get(f"{address}?{query}").context["rows"]
        return [row.study.title for row in rows]

    assert titles("sort=title") == ["=Pilot", "Everyday choices"]
    assert titles("sort=-items") == ["Everyday choices", "=Pilot"]
    assert titles("state=paused") == ["=Pilot"]
    assert titles("search=every") == ["Everyday choices"]
    assert titles("sort=nonsense&state=nonsense") == ["=Pilot", "Everyday choices"]
    assert "No studies match" in client.get(f"{address}?search=zzz").content.decode()
    rows = client.get(f"{address}?format=csv&sort=title").content.decode().splitlines()
    assert rows[0] == "study,title,state,items,answers,seats,created_at"
    assert rows[1].startswith("two,'=Pilot,paused,0,0,0,")
    assert rows[2].startswith("one,Everyday choices,open,1,2,3,")


def test_the_link_for_annotators_has_the_placeholders_of_the_platform(client, study, settings):
    settings.PUBLIC_BASE_URL = "https://judge.example.org"
    sign_in(client, study)

    page = client.get(reverse("studies:detail", args=["one"])).content.decode()

    assert (
        "https://judge.example.org/s/one/?PROLIFIC_PID={{%PROLIFIC_PID%}}&amp;"
        "STUDY_ID={{%STUDY_ID%}}&amp;SESSION_ID={{%SESSION_ID%}}"
    ) in page
    Study.objects.update(entry="link")
    page = client.get(reverse("studies:detail", args=["one"])).content.decode()
    assert 'value="https://judge.example.org/s/one/"' in page


def test_simulated_data_is_labelled(client):
    study = make_study(slug="one", is_simulated=True)
    sign_in(client, study)

    for address in (reverse("studies:list"), reverse("studies:detail", args=["one"])):
        assert re.search(r'class="simulated">[Ss]imulated', client.get(address).content.decode())


def test_an_upload_is_imported_and_the_browser_sent_on(client, study):
    user = sign_in(client, study, role="editor")
    file = SimpleUploadedFile("items.jsonl", jsonl(raw_item(1), raw_item(2)))

    response = client.post(
        reverse("studies:import", args=["one"]), {"file": file, "task": "preference"}, follow=True
    )

    assert response.redirect_chain == [(reverse("studies:detail", args=["one"]), 302)]
    assert "Imported 2 items and 2 personas" in response.content.decode()
    assert study.log.get().user == user
    assert Item.objects.count() == 2


def test_a_check_stores_nothing_and_shows_the_first_items(client, study):
    sign_in(client, study)
    file = SimpleUploadedFile("items.jsonl", jsonl(raw_item(1, colour="red")))

    response = client.post(
        reverse("studies:import", args=["one"]),
        {"file": file, "task": "preference", "check": ""},
    )

    page = response.content.decode()
    assert "No errors in the file" in page
    assert "What shall I cook on day 1?" in page
    assert "“colour” is not part of the format" in page
    assert not Item.objects.exists()


def test_a_broken_upload_lists_faults_by_rule_with_a_file_of_all(client, study):
    sign_in(client, study)
    rows = [raw_item(n, question=None) for n in range(1, 121)]
    file = SimpleUploadedFile("items.jsonl", jsonl(*rows, raw_item(200, id=SCRIPT)))

    response = client.post(
        reverse("studies:import", args=["one"]), {"file": file, "task": "preference"}
    )

    page = response.content.decode()
    assert response.status_code == 422
    assert "<title>Error: Import items" in page
    assert "121 errors" in page
    assert ": question is missing." in page
    assert SCRIPT not in page
    encoded = re.search(r"data:text/csv;charset=utf-8;base64,([^\"]+)", page)
    assert len(base64.b64decode(encoded[1]).decode().splitlines()) == 122
    assert not Item.objects.exists()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "Choose a file."),
        ({"file": SimpleUploadedFile("items.jsonl", b"")}, "The file is empty."),
    ],
)
def test_an_upload_without_a_file_is_asked_for_again(client, study, files, said):
    sign_in(client, study)

    response = client.post(reverse("studies:import", args=["one"]), {**files, "task": "preference"})

    assert response.status_code == 422
    assert said in response.content.decode()


def test_items_can_be_found_and_read_with_the_exact_prompt(client, study):
    make_item(study=study, key="i1", question="Where do I find bread?")
    make_item(study=study, key="item-two", split="practice")
    sign_in(client, study, role="viewer")
    address = reverse("studies:items", args=["one"])

    assert "item-two" in client.get(address).content.decode()
    assert "item-two" not in client.get(f"{address}?search=BREAD").content.decode()
    assert "Where do I find" not in client.get(f"{address}?split=practice").content.decode()
    page = client.get(reverse("studies:item", args=["one", "i1"])).content.decode()
    assert "Prompt sent to a judge (certainty, response 1 shown first)" in page
    assert "[Question]\nWhere do I find bread?" in page
    assert client.get(reverse("studies:item", args=["one", "i9"])).status_code == 404


def test_long_lists_of_items_come_in_pages(client, study):
    persona = make_persona(study=study)
    for n in range(51):
        make_item(study=study, key=f"i{n:02}", persona=persona)
    sign_in(client, study)
    address = reverse("studies:items", args=["one"])

    assert "page 1 of 2" in client.get(address).content.decode()
    assert "i50" in client.get(f"{address}?page=2").content.decode()
    assert "page 2 of 2" in client.get(f"{address}?page=999").content.decode()


def test_text_from_outside_is_shown_as_text(client):
    study = make_study(slug="one", title=SCRIPT)
    persona = make_persona(
        study=study,
        text=SCRIPT,
        features=[{"key": "a", "label": SCRIPT, "value": SCRIPT, "text": SCRIPT}],
    )
    make_item(
        study=study,
        key="i1",
        persona=persona,
        question=SCRIPT,
        context=SCRIPT,
        topic=SCRIPT,
        context_title=SCRIPT,
        r1={"text": SCRIPT, "prompt": SCRIPT},
        r2={"text": SCRIPT},
        warnings=[SCRIPT],
    )
    record(study, SCRIPT, after=SCRIPT)
    sign_in(client, study)

    for address in [
        reverse("studies:list"),
        f"{reverse('studies:list')}?search={SCRIPT}",
        *addresses(),
    ]:
        page = client.get(address).content.decode()
        assert "&lt;script&gt;" in page, address
        assert SCRIPT not in page, address


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("size", [1, 20])
def test_pages_ask_the_database_a_fixed_number_of_questions(
    client, study, size, django_assert_max_num_queries
):
    for n in range(size):
        make_item(study=study, key=f"i{n + 1}")
    user = sign_in(client, study)
    for n in range(size):
        Membership.objects.create(user=user, study=make_study(slug=f"s{n}"))

    most = {"list": 18, "detail": 47, "import": 19, "items": 19, "item": 26}
    for name, limit in most.items():
        arguments = [] if name == "list" else ["one", "i1"] if name == "item" else ["one"]
        with django_assert_max_num_queries(limit):
            assert client.get(reverse(f"studies:{name}", args=arguments)).status_code == 200


def test_a_wrong_password_is_explained_and_a_right_one_leads_on(client, study):
    user = sign_in(client, study)
    user.set_password("a good long secret")
    user.save()
    client.logout()
    address = f"{reverse('login')}?next={reverse('studies:items', args=['one'])}"

    wrong = client.post(address, {"username": user.username, "password": "no"})
    right = client.post(
        address,
        {
            "username": user.username,
            "password": "a good long secret",
            "next": reverse("studies:items", args=["one"]),
        },
    )

    assert "There is a problem" in wrong.content.decode()
    assert "<title>Error: Sign in" in wrong.content.decode()
    assert right["Location"] == reverse("studies:items", args=["one"])


def test_signing_out_takes_a_post(client, study):
    sign_in(client, study)

    assert client.get(reverse("logout")).status_code == 405
    assert client.post(reverse("logout")).status_code == 302
    assert client.get(reverse("studies:list")).status_code == 302


def test_missing_pages_have_our_own_text(client):
    page = client.get("/no/such/page/")

    assert page.status_code == 404
    assert "There is no such page" in page.content.decode()


def test_a_new_study_asks_what_only_the_researcher_knows_and_folds_the_preset(client):
    client.force_login(User.objects.create_superuser("ada"))

    page = client.get(reverse("studies:new")).text
    unfolded = re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)
    wrong = client.post(reverse("studies:new"), {"title": "One", "minutes": "0"}).text

    assert re.findall(r"<legend>(.*?)</legend>", unfolded) == ["The study", "Consent"]
    assert 'name="minutes"' not in unfolded
    assert not re.findall("<details[^>]* open>", page)
    opened = re.findall(r"<details[^>]* open>\s*<summary>(.*?)</summary>", wrong)
    assert "Time and pay" in opened
    assert "Other texts" not in opened


def test_items_are_sorted_by_their_answers(client):
    study = make_study(slug="sorted", annotations_per_item=3)
    few, many = (make_item(study=study) for _ in range(2))
    Item.objects.filter(pk=many.pk).update(answered=2, seats_taken=2)
    client.force_login(User.objects.create_superuser("root"))

    def keys(sort: str) -> list[str]:
        page = client.get(reverse("studies:items", args=["sorted"]), {"sort": sort})
        return [item.key for item in page.context["page"]]

    assert keys("answered") == [few.key, many.key]
    assert keys("-answered") == [many.key, few.key]
    assert keys("study__owner'") == sorted([few.key, many.key])


def test_the_action_of_a_form_can_stand_in_the_address(client, study):
    sign_in(client, study, role="editor")

    done = client.post("/studies/one/state/", {"state": "paused"})
    read = client.get("/studies/one/state/")
    unknown = client.post("/studies/one/states/", {"state": "open"})

    study.refresh_from_db()
    assert study.state == "paused"
    assert (done.status_code, read.status_code, unknown.status_code) == (302, 405, 404)
