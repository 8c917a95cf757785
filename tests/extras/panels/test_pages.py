"""The pages of panels: adding one, what its form refuses, its link and its rehearsal."""

import re
from html import unescape

import pytest

from extras.panels.checks import launch_checks
from extras.panels.forms import new_panel
from extras.panels.links import path_of, seal, unseal
from extras.panels.models import Panel
from extras.panels.presets import presets
from extras.panels.rehearsal import rehearse
from extras.panels.returns import KINDS_OF_ENDING, fault_of
from extras.panels.setup import save_panel
from studies.errors import StudyError
from studies.models import Study
from studies.services.whole_studies import copy_study
from tests.extras.panels.builders import OWN, SECRET, make_panel
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_annotator, sign_in

pytestmark = pytest.mark.django_db


def pages(study: Study) -> str:
    return f"/studies/{study.slug}/people/panels/"


def filled_form(study: Study, preset: str, **changes: str) -> dict[str, str]:
    """What a browser sends after an owner has completed the form of a new panel."""
    panel = new_panel(study, presets()[preset])
    names = (
        *("title", "name", "person_parameter", "study_parameter", "session_parameter"),
        *(*KINDS_OF_ENDING, "pay", "signature", "signature_parameter"),
    )
    sent = {name: getattr(panel, name) for name in names}
    sent |= {"pay_each": "3.00"} | OWN.get(preset, {})
    boxes = ("requires_study", "requires_session", "signs_returns")
    sent |= {name: "on" for name in boxes if getattr(panel, name)}
    if panel.signature:
        sent["secret"] = SECRET
    if preset == "generic":
        sent |= {"name": "other", "title": "Other"}
    return sent | changes


@pytest.mark.parametrize("preset", sorted(presets()))
def test_an_owner_adds_each_panel_and_its_page_has_link_and_rehearsal(study, preset):
    owner = sign_in(study, "owner")
    opened_page = owner.get(f"{pages(study)}new/?kind={preset}")

    saved = owner.post(f"{pages(study)}new/?kind={preset}", filled_form(study, preset), follow=True)

    assert opened_page.status_code == 200
    page = unescape(saved.content.decode())
    panel = Panel.objects.get()
    assert panel.reward == 300
    assert f"/s/{study.slug}/from/{panel.name}/" in page
    assert "✖" not in page
    assert all(title in page for title in KINDS_OF_ENDING.values())
    assert SECRET not in page
    assert "panel set" in study.log.values_list("event", flat=True)


def test_the_list_names_every_kind_of_panel_and_prolific(study):
    page = sign_in(study, "owner").get(pages(study)).content.decode()

    assert [kind.title for kind in presets().values() if kind.title not in page] == []
    assert "Prolific is not a panel here" in page


def test_editors_see_panels_and_cannot_change_them(study, panel):
    panel("sona")
    editor = sign_in(study, "editor")

    page = editor.get(f"{pages(study)}sona/")

    assert page.status_code == 200
    assert "Change panel" not in page.content.decode()
    assert editor.post(f"{pages(study)}sona/edit/", {}).status_code == 404


@pytest.mark.parametrize(
    ("preset", "address", "message"),
    [
        ("connect", "https://evil.example/complete", "evil.example is not a host of Connect"),
        ("sona", "https://sona-systems.com.evil.example/", "is not a host of SONA"),
        ("sona", "https://evilsona-systems.com/", "is not a host of SONA"),
        ("lucid", "https://samplicio.us@evil.example/", "Use the host alone"),
        ("cint", "https://s.cint.com/Survey/QuotaFull?ProjectToken=PROJECT-TOKEN", "Replace PROJ"),
        ("generic", "http://panel.example.org/", "Begin with https://"),
        ("generic", "javascript:alert(1)", "Begin with https://"),
        ("generic", "//panel.example.org/", "Begin with https://"),
        ("generic", "https://panel.example.org:8443/", "Use the host alone"),
        ("generic", "https://{person}.example.org/", "The host cannot have a placeholder"),
        ("generic", "https://panel.example.org/?p={who}", "There is no placeholder {who}"),
        ("generic", "https://panel.example.org/?p={person", "A placeholder has one { and one }"),
        ("generic", "https://panel.example.org/?p={per{son}}", "A placeholder has one"),
        ("generic", "https://panel.example.org/ ?p={person}", "without spaces"),
        ("generic", "https://[", "This is not an address"),
        ("generic", "https://Panel.example.org/", "small letters"),
    ],
)
def test_a_return_address_of_another_host_is_refused(study, preset, address, message):
    owner = sign_in(study, "owner")

    response = owner.post(
        f"{pages(study)}new/?kind={preset}", filled_form(study, preset, over_quota=address)
    )

    assert response.status_code == 422
    assert message in unescape(response.content.decode())
    assert not Panel.objects.exists()


def test_addresses_of_the_presets_are_their_own():
    wrong = [
        (kind.code, address)
        for kind in presets().values()
        for address in kind.addresses.values()
        if fault_of(address, kind)
    ]

    assert wrong == []


def test_the_address_that_sona_shows_gets_the_persons_place(study):
    owner = sign_in(study, "owner")
    opened_page = (
        "https://lab.sona-systems.com/webstudy_credit.aspx?credit_token=4e48&survey_code=XXXX"
    )

    owner.post(f"{pages(study)}new/?kind=sona", filled_form(study, "sona", complete=opened_page))

    assert Panel.objects.get().complete.endswith("&survey_code={person}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "new"}, "This word is taken"),
        ({"name": "sona"}, "This study has a panel “sona”"),
        ({"person_parameter": "1id"}, "begin with a letter"),
        ({"person_parameter": "a b"}, "Use letters, digits"),
        ({"study_parameter": "pid"}, "Each parameter needs a name of its own"),
        ({"requires_session": "on"}, "Enter the parameter of the session"),
        ({"signature": "sha256"}, "Enter the secret that the panel gave you"),
        ({"signs_returns": "on"}, "Choose a signature first"),
        ({"pay_each": "-1"}, "greater than or equal to 0"),
        ({"fee_percent": "600"}, "less than or equal to 500"),
        ({"title": ""}, "This field is required"),
    ],
)
def test_a_panel_that_cannot_work_is_refused_with_the_reason(study, panel, changes, message):
    panel("sona")
    owner = sign_in(study, "owner")

    response = owner.post(
        f"{pages(study)}new/?kind=generic", filled_form(study, "generic", **changes)
    )

    assert response.status_code == 422
    assert message in unescape(response.content.decode())
    assert Panel.objects.count() == 1


def test_a_stored_secret_stays_unless_another_is_entered(study, panel):
    sending = panel("lucid")
    owner = sign_in(study, "owner")

    for secret, expected in (("", SECRET), ("another", "another")):
        sent = filled_form(study, "lucid", secret=secret)
        assert owner.post(f"{pages(study)}lucid/edit/", sent).status_code == 302
        sending.refresh_from_db()
        assert unseal(sending) == expected
    assert SECRET not in sending.sealed_secret


def test_once_somebody_has_come_kind_and_short_name_are_fixed_and_the_panel_stays(study, panel):
    sending = panel("generic")
    sending.people.create(annotator=make_annotator(study=study), person="p-1")
    owner = sign_in(study, "owner")

    changed = owner.post(
        f"{pages(study)}generic/edit/", filled_form(study, "generic", name="another")
    )
    removed = owner.post(f"{pages(study)}generic/", {"action": "remove"})

    for response in (changed, removed):
        assert response.status_code == 422
        assert "People have come from" in response.content.decode()
    assert Panel.objects.get().name == "generic"


def test_a_panel_from_which_nobody_came_is_removed(study, panel):
    panel("sona")

    sign_in(study, "owner").post(f"{pages(study)}sona/", {"action": "remove"})

    assert not Panel.objects.exists()


@pytest.mark.parametrize(
    ("preset", "changes", "kind", "message"),
    [
        ("lucid", {"over_quota": "https://samplicio.us/s/x?RIS=10&RID={person}"}, "over_quota",
         "The panel would count and pay this as complete."),
        ("lucid", {"complete": "https://samplicio.us/s/x?RIS=20&RID={person}"}, "complete",
         "The panel would read this as “Screened out”."),
        ("cint", {"complete": "https://s.cint.com/Survey/Complete?ProjectToken=t"}, "complete",
         "The address does not say who comes back."),
        ("generic", {"withdrew": "https://panel.example.org/?v={session}"}, "withdrew",
         "has a placeholder for which the panel’s link has no parameter"),
        ("sona", {"complete": ""}, "complete", "does not know that somebody has finished"),
        ("generic", {"failed": "https://panel.example.org/?p={who}"}, "failed",
         "has a placeholder for which"),
    ],
)  # fmt: skip
def test_the_rehearsal_names_what_is_not_understood(panel, preset, changes, kind, message):
    walked = rehearse(panel(preset, **changes))

    faults = {ending.kind: ending.fault for ending in walked.endings}
    assert message in faults.pop(kind)
    assert walked.has_fault
    assert set(faults.values()) == {""}


def test_the_rehearsal_says_that_a_secret_can_no_longer_be_read(study, panel, settings):
    sending = panel("lucid")
    settings.SECRET_KEY = "another key"

    walked = rehearse(sending)

    assert "Enter it again" in walked.refused
    assert sign_in(study, "owner").get(f"{pages(study)}lucid/").status_code == 200


def test_the_rehearsal_stores_nothing(study, panel):
    rehearse(panel("mturk"))

    assert not study.annotators.exists()


def test_a_copy_of_a_study_has_its_panels_without_their_secrets(study, panel):
    panel("lucid")
    panel("sona")

    copy = copy_study(study_id=study.pk, slug="copy", title="Copy", with_items=False)

    copied = Panel.objects.filter(study=copy)
    assert {row.name for row in copied} == {"lucid", "sona"}
    assert {(row.signature, row.sealed_secret) for row in copied} == {("", "")}
    assert path_of(copied[0]).startswith("/s/copy/from/")


def test_panels_are_not_turned_off_while_people_can_come(study, panel):
    panel("sona")
    Study.objects.update(state="open")
    assert refusal(study, "panels").startswith("People can still come from panels.")

    Study.objects.update(state="closed")
    turn_off(study, "panels")


def test_a_panel_is_not_replaced_unseen(study, panel):
    sending = panel("generic")
    owner, address = sign_in(study, "owner"), f"{pages(study)}generic/edit/"
    seen = owner.get(address).context["seen"]
    sent = filled_form(study, "generic", name="generic", seen=seen)

    saved = owner.post(address, sent | {"title": "Mine"})
    refused = owner.post(address, sent | {"title": "Theirs"})
    again = owner.post(address, sent | {"title": "Theirs", "seen": refused.context["seen"]})

    assert (saved.status_code, refused.status_code, again.status_code) == (302, 422, 302)
    assert "Someone else changed the panel" in refused.content.decode()
    sending.refresh_from_db()
    assert sending.title == "Theirs"


def test_two_owners_do_not_give_one_name_twice(study, panel):
    panel("sona")
    second = make_panel(study, "generic", name="second")
    second.name = "sona"

    with pytest.raises(StudyError, match="another short name"):
        save_panel(second)


def test_a_secret_is_sealed():
    assert seal("") == ""
    assert re.fullmatch(r"gAAAA[\w-]+=*", seal("secret"))


def test_launch_checks_rehearse_every_panel_and_compare_the_pay(study, panel):
    Study.objects.update(consent="You get $4.50.")
    study.refresh_from_db()
    panel("lucid")
    panel("sona", complete="", reward=0)

    checks = {check.text.partition("”")[0]: check for check in launch_checks(study)[:2]}
    difference = launch_checks(study)[2]

    assert [check.is_open for check in checks.values()] == [False, True]
    assert difference.is_open
    assert "pays $0.00, and the consent text says $4.50" in difference.text
    page = sign_in(study, "owner").get(f"{pages(study)}sona/").content.decode()
    assert "the consent text says $4.50" in page
