"""Profile texts written by a judge: sent once, within the budget, and used only after review."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse

from extras.personas import drafting
from extras.personas.drafting import PROMPT_SHA256, accept, messages_for, reject, usable
from extras.personas.models import DraftingJob, ProfileDraft
from extras.personas.tasks import tidy
from judging.models import NANO
from studies.errors import StaleVersion, StudyError
from studies.importers.items.storage import remove_items
from studies.models import Item, Persona, Study, StudyLog
from studies.texts.slots import HistoryEntry
from tests.factories import make_item, make_persona, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion, error

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "Wants short answers with a plan, and turns down those that praise before they help."


@pytest.fixture
def study():
    study = make_study(slug="past", state="draft")
    for n in range(3):
        past = [{"prompt": f"Question {n}?", "chosen": f"Short {n}.", "rejected": f"Long {n}."}]
        persona = make_persona(study=study, key=f"p{n}", history=past if n < 2 else [])
        make_item(study=study, key=f"i{n}", persona=persona)
    return study


@pytest.fixture
def writer(llm, engine):
    llm.answer = lambda body, number: completion(TEXT)
    return make_judge(base_url=llm.url, price_input=1, price_output=1)


def ask(study, judge, budget=None):
    job = drafting.request_drafts(study_id=study.pk, judge=judge, budget=budget, user=None)
    return drafting.run_job(job_id=job.pk)


def test_each_persona_with_earlier_choices_is_asked_about_once(study, writer, llm):
    job = ask(study, writer)

    assert (job.state, job.message) == ("done", "2 texts await your review.")
    assert len(llm.requests) == 2
    asked = sorted(request["messages"][0]["content"] for request in llm.requests)
    assert "Question 0?" in asked[0]
    assert "Preferred: Short 0." in asked[0]
    assert "Turned down: Long 0." in asked[0]
    drafts = list(job.drafts.values_list("persona__key", "state", "text", "model"))
    assert drafts == [(key, "written", TEXT, "mock-2024-05-13") for key in ("p0", "p1")]
    assert [each.spent_nano for each in job.drafts.all()] == [110 * NANO // 10**6] * 2
    assert job.prompt_sha256 == PROMPT_SHA256
    assert set(Persona.objects.values_list("text", flat=True)) == {""}
    with pytest.raises(StudyError, match="No persona needs a text"):
        ask(study, writer)


def test_nothing_is_asked_beyond_the_budget(study, writer, llm):
    most = len(messages_for([HistoryEntry("Question 0?", "Short 0.", "Long 0.")])[0].text.encode())
    room = (most + 200 + 1024) / 10**6 + 0.0001  # one request at its most, and a little

    job = ask(study, writer, budget=round(room, 4))

    assert job.state == "failed"
    assert "is too small for another request" in job.message
    assert len(llm.requests) == 1
    assert sorted(job.drafts.values_list("state", flat=True)) == ["waiting", "written"]
    assert ask(study, writer, budget=1).drafts.get().persona.key == "p1"
    assert len(llm.requests) == 2


def test_a_budget_without_a_price_is_refused(study, llm, engine):
    job = ask(study, make_judge(base_url=llm.url), budget=1)

    assert "cannot be checked" in job.message
    assert llm.requests == []


def test_a_request_whose_worker_was_killed_stays_paid_and_is_asked_again(study, writer, llm):
    job = drafting.request_drafts(study_id=study.pk, judge=writer, budget=None, user=None)
    lost, other = job.drafts.all()
    ProfileDraft.objects.filter(pk=lost.pk).update(state="sent", requests=1, held_nano=7)
    ProfileDraft.objects.filter(pk=other.pk).update(state="written", text=TEXT, reply=TEXT)

    drafting.run_job(job_id=job.pk)

    lost.refresh_from_db()
    assert (lost.state, lost.requests, lost.held_nano) == ("written", 2, 0)
    assert lost.spent_nano == 7 + 110 * NANO // 10**6
    assert len(llm.requests) == 1


def test_a_worker_that_was_given_up_sends_nothing_more(study, writer, llm, monkeypatch):
    job = drafting.request_drafts(study_id=study.pk, judge=writer, budget=None, user=None)
    make = drafting._messages_about

    def another_worker_takes_it(draft):
        DraftingJob.objects.filter(pk=job.pk).update(attempts=9)
        return make(draft)

    monkeypatch.setattr(drafting, "_messages_about", another_worker_takes_it)
    drafting.run_job(job_id=job.pk)

    assert llm.requests == []


def test_unusable_replies_are_asked_again_and_then_failed(study, writer, llm):
    llm.answer = lambda body, number: completion("Yes." if number % 2 else "I cannot help with it.")

    job = ask(study, writer)

    assert job.message == "0 texts await your review. 2 without a usable reply."
    assert {(each.state, each.requests) for each in job.drafts.all()} == {("failed", 5)}
    llm.answer = lambda body, number: completion(f"“{TEXT}”")
    assert {each.text for each in ask(study, writer).drafts.all()} == {TEXT}


def test_a_refused_key_ends_the_job_with_the_servers_words(study, writer, llm):
    llm.answer = lambda body, number: error(401, "wrong key")

    job = ask(study, writer)

    assert job.state == "failed"
    assert "What was received so far is below." in job.message
    assert set(job.drafts.values_list("state", flat=True)) == {"waiting"}


def test_structured_judges_are_asked_for_plain_text(study, llm, engine):
    llm.answer = lambda body, number: completion(TEXT)

    assert ask(study, make_judge(base_url=llm.url, structured=True)).state == "done"
    assert all("response_format" not in request for request in llm.requests)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (TEXT, TEXT),
        (f"<think>Hm, long.</think>\n{TEXT}", TEXT),
        (f'"{TEXT}"', TEXT),
        ("Too short.", ""),
        ("word " * 400, ""),
        ("I'm sorry, but I cannot describe a person from these choices of theirs.", ""),
        ("<think>" + TEXT, ""),
    ],
)
def test_usable_replies(reply, text):
    assert usable(reply) == text


def test_long_histories_are_cut_to_the_latest_and_marked():
    past = [HistoryEntry(f"Q{n}", "x" * 2_000, "") for n in range(60)]

    text = messages_for(past)[0].text

    assert "Question: Q10\n" in text
    assert "Question: Q9\n" not in text
    assert f"{'x' * 1_200} …" in text
    assert "Turned down: not known" in text


def test_an_accepted_text_is_the_personas_and_is_recorded(study, writer):
    job = ask(study, writer)
    user = User.objects.create_user("ada")
    first, second = job.drafts.order_by("persona__key")
    before = Item.objects.get(key="i0").content_hash, study.content_hash

    accept(study=study, draft_id=first.public_id, text=f"{TEXT} Really.", user=user)
    reject(study=study, draft_id=second.public_id, user=user)

    assert Persona.objects.get(key="p0").text == f"{TEXT} Really."
    assert Persona.objects.get(key="p1").text == ""
    study.refresh_from_db()
    assert Item.objects.get(key="i0").content_hash != before[0]
    assert study.content_hash != before[1]
    first.refresh_from_db()
    assert (first.state, first.text, first.reply) == ("accepted", f"{TEXT} Really.", TEXT)
    logged = StudyLog.objects.get(event="profile text accepted").detail
    assert logged | {"judge": "judge", "persona": "p0", "edited": True} == logged
    for again in (accept, reject):
        with pytest.raises(StaleVersion):
            again(
                study=study,
                draft_id=first.public_id,
                user=user,
                **({"text": TEXT} if again is accept else {}),
            )
    # One was rejected: it may be asked about again.
    assert [each.key for each in drafting.without_draft(study)] == ["p1"]


def test_items_can_be_replaced_with_their_drafts(study, writer):
    ask(study, writer)

    remove_items(study, seen=3)

    assert not ProfileDraft.objects.exists()


def test_items_in_use_are_not_written_about(study, writer, llm):
    study.frozen_at = "2026-01-01T00:00:00Z"
    study.save()

    with pytest.raises(StudyError, match="Items cannot be edited"):
        ask(study, writer)
    assert llm.requests == []


def test_the_page_asks_and_reviews(study, writer, monkeypatch):
    client = sign_in(study)
    page = reverse("personas:profiles", args=["past"])
    monkeypatch.setattr(
        "extras.personas.profile_views.write_profile_drafts.delay_on_commit",
        lambda pk: drafting.run_job(job_id=pk),
    )
    assert "2 personas have earlier choices" in client.get(page).content.decode()

    wrong = client.post(page, {"judge": "", "budget": "-1"})
    assert wrong.status_code == 422
    assert client.post(page, {"judge": writer.pk, "budget": "1"}).url == page

    shown = client.get(page).content.decode()
    assert "To review (2)" in shown
    assert "Preferred: Short 0." in shown
    first, second = ProfileDraft.objects.order_by("persona__key")
    one, other = ({"action": "decide", "draft": draft.public_id} for draft in (first, second))
    refused = client.post(page, one | {"accept": "1", "text": "a\0b"}, follow=True)
    assert Persona.objects.get(key="p0").text == ""
    done = client.post(page, one | {"accept": "1", "text": TEXT}, follow=True).content.decode()
    assert "Persona p0 now has this text." in done
    assert "accepted by" in done
    late = client.post(page, one | {"reject": "1"}, follow=True).content.decode()
    assert "Somebody else has already decided about this text." in late
    assert (
        "is unchanged" in client.post(page, other | {"reject": "1"}, follow=True).content.decode()
    )
    assert refused.status_code in (200, 400)
    status = client.get(reverse("personas:profiles", args=["past"]), {"progress": ""}).json()
    assert status["open"] is False


def test_a_job_that_no_worker_started_is_done_inline(study, writer, llm, capsys):
    call_command("draft_profiles", "past", "--judge", "judge")
    call_command("draft_profiles", "past", "--judge", "judge", "--budget", "1", "--inline")

    assert "2 texts await your review." in capsys.readouterr().out
    job = DraftingJob.objects.get()
    assert (job.state, job.budget) == ("done", 1)


def test_by_command(study, writer, llm, capsys):
    call_command("draft_profiles", "past", "--judge", "judge", "--budget", "1", "--inline")

    assert "2 texts await your review." in capsys.readouterr().out
    with pytest.raises(CommandError, match="No persona needs a text"):
        call_command("draft_profiles", "past", "--judge", "judge", "--inline")
    with pytest.raises(CommandError, match="Judges that can: judge"):
        call_command("draft_profiles", "past", "--judge", "nobody")


def test_a_dry_run_says_what_is_missing_and_changes_nothing(study, writer, llm, capsys):
    Study.objects.update(extras=[])

    call_command("draft_profiles", "past", "--judge", "judge", "--dry-run")

    sent = sum(
        len(drafting.messages_for([HistoryEntry(**persona.history[0])])[0].text)
        for persona in Persona.objects.exclude(history=[])
    )
    tokens = round(sent / 4 + 2 * 150)
    assert capsys.readouterr().out == (
        f"Texts about 2 personas, about {tokens:,} tokens: about ${tokens / 10**6:.4f}. "
        "Nothing was asked.\n"
    )
    assert (DraftingJob.objects.count(), len(llm.requests)) == (0, 0)
    assert Study.objects.get().extras == []


def test_a_job_without_a_worker_is_queued_again(study, writer, monkeypatch):
    job = drafting.request_drafts(study_id=study.pk, judge=writer, budget=None, user=None)
    DraftingJob.objects.filter(pk=job.pk).update(heartbeat_at="2020-01-01T00:00:00Z")
    queued = []
    monkeypatch.setattr(
        "extras.personas.tasks.write_profile_drafts.delay", lambda pk: queued.append(pk)
    )

    tidy()

    assert queued == [job.pk]
