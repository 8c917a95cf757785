"""Every sum stands next to what Prolific says itself."""

import csv
import io
from collections import Counter

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.urls import reverse

from annotation.models import ProlificReservation, ProlificStudy, ProlificSubmission
from annotation.prolific import money
from annotation.prolific.api.transport import ProlificError
from annotation.prolific.money import BonusLine
from annotation.prolific.settle.decisions import approve
from annotation.prolific.settle.proposals import settlement
from annotation.prolific.sync.sync import follow
from annotation.services.faulty_items import take_out
from extras.prolific_tools.ledger import ledger_of, read_costs
from studies.models import Study
from tests.annotation.prolific.life import (
    add_beyond,
    answer_some,
    arrive,
    finish,
    ready,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def editor(client):
    client.force_login(User.objects.create_superuser("ada"))
    return client


@pytest.fixture(params=[True, False])
def lists_bonuses(request, prolific) -> None:
    """Whether Prolific's list shows bonuses, or the single submission alone."""
    prolific.world.behaviour.lists_bonuses = request.param


@pytest.fixture
def settled(prolific, row):
    """Two people approved, one with a bonus for a part; two places added since."""
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 1)
    prolific.world.give_back(person["submission"])
    for _ in range(2):
        finish(prolific, *arrive(prolific, row))
    follow(study_id=row.study_id)
    waiting = row.submissions.filter(status="AWAITING REVIEW").values_list("pk", flat=True)
    approve(study_id=row.study_id, submission_ids=list(waiting), confirmed=2)
    part = row.submissions.get(status="RETURNED")
    payment = ready(row.study, [BonusLine(part.pk, 150, "partial work")])
    money.pay(payment_id=payment.pk, confirmed=payment.total)
    add_beyond(row, 2, seen=6)
    read_costs(study_id=row.study_id)
    return row.study


def figures(study) -> dict[str, tuple[int | None, int | None]]:
    return {line.name: (line.ours, line.theirs) for line in ledger_of(study).lines}


@pytest.mark.sampled(keep=1)
def test_every_amount_is_listed_and_agrees_with_prolific(lists_bonuses, settled):
    found = ledger_of(settled)

    assert figures(settled) == {
        "Places": (8, 8),
        "Rewards set aside": (3600, 3600),
        "Fees and tax set aside": (1440, 1440),
        "Rewards paid": (900, 900),
        "Bonuses paid": (150, 150),
        "Fees and tax of bonuses": (60, 60),
    }
    assert found.differing == []
    assert Counter((e.kind, e.amount, e.fees) for e in found.entries) == {
        ("Reservation", 2700, 1080): 1,
        ("Reservation", 900, 360): 1,
        ("Reward", 450, None): 2,
        ("Bonus", 150, None): 1,
        ("Fees of bonuses", None, 60): 1,
    }


def test_an_item_that_is_taken_out_lowers_nobodys_pay(prolific, row):
    whole, part, completed = (arrive(prolific, row) for _ in range(3))
    for _, annotator in (whole, part):
        last = annotator.assignments.get(position=3).item
        take_out(study_id=row.study_id, key=last.key, reason="Both responses are equal.")
    for (person, annotator), answers in ((whole, 2), (part, 1)):
        answer_some(annotator, answers)
        prolific.world.give_back(person["submission"])
    finish(prolific, *completed)
    follow(study_id=row.study_id)
    rows = settlement(row.study).rows
    owed = {each.submission.annotator_id: each.bonus for each in rows if each.bonus}

    assert owed == {whole[1].pk: 450, part[1].pk: 225}
    read_costs(study_id=row.study_id)
    waiting = [each.pk for each in row.submissions.filter(status="AWAITING REVIEW")]
    approve(study_id=row.study_id, submission_ids=waiting, confirmed=1)
    lines = [BonusLine(r.submission.pk, r.bonus, r.bonus_reason) for r in rows if r.bonus]
    payment = ready(row.study, lines)
    money.pay(payment_id=payment.pk, confirmed=payment.total)
    before = [line.name for line in ledger_of(row.study).lines]
    assert not any(name.startswith("Bonuses of") for name in before)
    read_costs(study_id=row.study_id)
    found = figures(row.study)
    assert found["Rewards paid"] == (450, 450)
    assert found["Bonuses paid"] == (675, 675)
    assert found["Fees and tax of bonuses"] == (270, 270)
    assert ledger_of(row.study).differing == []


@pytest.mark.nightly
def test_money_keeps_its_promised_currency_and_is_never_added_across(settled, editor):
    """Settings say another currency today, and one group was paid in a third."""
    other = ProlificStudy.objects.create(
        study=settled, label="GB", prolific_id="p2", status="ACTIVE", reward=500, currency="GBP"
    )
    first = settled.prolific_studies.exclude(pk=other.pk).get()
    approved = first.submissions.filter(status="APPROVED").first()
    ProlificSubmission.objects.filter(pk=approved.pk).update(prolific_study=other)
    waiting = [
        ProlificSubmission.objects.create(
            prolific_study=row, submission_id=f"w{row.pk}", status="AWAITING REVIEW"
        )
        for row in (first, other)
    ]
    Study.objects.filter(pk=settled.pk).update(currency="EUR", reward=999)
    settled.refresh_from_db()

    found = ledger_of(settled)
    ours = {line.name: (line.ours, line.currency) for line in found.lines}
    page = editor.get(reverse("prolific_tools:money", args=[settled.slug])).content.decode()
    sums = editor.post(
        reverse("people:prolific-settle", args=[settled.slug]),
        {"action": "approve", "submission": [each.pk for each in waiting]},
    ).content.decode()
    monitor = editor.get(reverse("studies:monitor", args=[settled.slug])).content.decode()

    assert ours["Rewards paid (USD)"] == (450, "USD")
    assert ours["Rewards paid (GBP)"] == (500, "GBP")
    assert {entry.currency for entry in found.entries} == {"USD", "GBP"}
    assert "£5.00 + $4.50" in sums
    assert "£5.00" in page
    assert "$4.50" in page
    assert "£5.00 + $4.50" in monitor
    assert "€" not in page + sums


@pytest.mark.nightly
def test_changes_made_on_prolific_show_as_differences(settled, prolific):
    row = ProlificStudy.objects.get()
    prolific.world.patch_study(row.prolific_id, {"total_available_places": 9})
    approved = ProlificSubmission.objects.filter(status="APPROVED").first()
    prolific.world.submissions[approved.submission_id].bonuses.append(100)
    follow(study_id=settled.pk)
    read_costs(study_id=settled.pk)

    found = ledger_of(settled)

    differing = {line.name: line.difference for line in found.differing}
    assert differing == {
        "Places": 1,
        "Rewards set aside": 450,
        "Fees and tax set aside": 180,
        "Bonuses paid": 100,
        "Fees and tax of bonuses": 40,
        f"Bonuses of {approved.annotator.pseudonym}": 100,
    }


def test_fees_that_prolific_did_not_state_are_unknown_not_zero(prolific, row):
    add_beyond(row, 2, seen=6)
    ProlificReservation.objects.filter(places=2).update(fees=None)
    read_costs(study_id=row.study_id)

    assert figures(row.study)["Fees and tax set aside"] == (None, 1440)
    assert ledger_of(row.study).differing == []


def test_an_unconfirmed_payment_is_in_no_total(prolific, row):
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 1)
    prolific.world.give_back(person["submission"])
    follow(study_id=row.study_id)
    payment = ready(row.study, [BonusLine(row.submissions.get().pk, 150, "partial work")])
    prolific.fault("POST", "/pay/", "dropped_before")
    with pytest.raises(ProlificError):
        money.pay(payment_id=payment.pk, confirmed=payment.total)

    found = ledger_of(row.study)

    assert found.waiting == 1
    assert figures(row.study)["Bonuses paid"] == (0, None)
    assert [e.state for e in found.entries if e.kind == "Bonus"] == ["sent, not yet confirmed"]


@pytest.mark.nightly
def test_the_file_holds_every_entry_in_major_units_and_no_formula(settled, editor):
    ProlificStudy.objects.update(label="=1+1")

    response = editor.get(reverse("prolific_tools:money-file", args=[settled.slug]))

    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert "attachment" in response["Content-Disposition"]
    assert {row["group"] for row in rows} == {"'=1+1"}
    assert [row["amount"] for row in rows if row["kind"] == "Reservation"] == ["27.00", "9.00"]
    assert [row["fees_and_tax"] for row in rows if row["kind"] == "Fees of bonuses"] == ["0.60"]
    assert {row["currency"] for row in rows} == {"USD"}
    submissions = ProlificSubmission.objects.values_list("participant", "submission_id")
    assert not any(name in response.content.decode() for pair in submissions for name in pair)


@pytest.mark.nightly
def test_the_page_compares_and_marks_what_differs(settled, editor, prolific):
    url = reverse("prolific_tools:money", args=[settled.slug])
    assert "All known figures match" in editor.get(url).content.decode()
    row = ProlificStudy.objects.get()
    prolific.world.patch_study(row.prolific_id, {"total_available_places": 9})
    follow(study_id=settled.pk)

    page = editor.post(url, follow=True).content.decode()

    assert "3 figures differ" in page
    assert "<strong>$4.50</strong>" in page
    prolific.fault("GET", "/cost/", "404")
    assert "cannot find it" in editor.post(url, follow=True).content.decode()


@pytest.mark.nightly
def test_the_page_asks_prolific_nothing_and_the_database_little(
    settled, editor, prolific, django_assert_max_num_queries
):
    prolific.requests.clear()
    with django_assert_max_num_queries(20):
        editor.get(reverse("prolific_tools:money", args=[settled.slug]))

    assert prolific.requests == []


@pytest.mark.nightly
def test_the_command_prints_the_comparison_and_writes_the_file(
    settled, capsys, tmp_path, prolific, editor
):
    prolific.world.patch_study(
        ProlificStudy.objects.get().prolific_id, {"total_available_places": 9}
    )
    out = tmp_path / "money.csv"

    call_command("prolific", "ledger", settled.slug, "--out", str(out))

    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == "DIFFERS Rewards set aside ours $36.00 Prolific $40.50".split()
    assert "payments to" in lines[-1]
    page = editor.get(reverse("prolific_tools:money-file", args=[settled.slug]))
    assert out.read_bytes() == page.content
