"""What to see to before people of panels come: launch checks, and pay that differs."""

from django.urls import reverse

from extras.panels.models import Panel
from extras.panels.rehearsal import rehearse
from studies.models import Study
from studies.money import format_money
from studies.services.studies import LaunchCheck


def pay_difference(panel: Panel) -> str:
    """How a consent text promises other pay than a panel's; empty if it does not.

    The line “Pay” below the text is the panel's own; a text that somebody wrote is for all panels.
    """
    study = panel.study
    paid, promised = (format_money(pay, study.currency) for pay in (panel.reward, study.reward))
    if panel.reward == study.reward or promised not in study.consent:
        return ""
    return (
        f"Panel “{panel.title}” pays {paid}, and the consent text says {promised}. Take the amount "
        "out of the text: below it, people read the pay of the panel that they come from."
    )


def launch_checks(study: Study) -> list[LaunchCheck]:
    """Whether the rehearsal of every panel goes well, and its pay is the promised one."""
    checks = []
    for panel in Panel.objects.filter(study=study):
        panel.study = study
        page = reverse("panels:panel", args=[study.slug, panel.name])
        has_fault = rehearse(panel).has_fault
        words = (
            f"Panel “{panel.title}”: the rehearsal names an ending that the panel would not "
            "understand."
            if has_fault
            else f"Panel “{panel.title}” understands every ending in the rehearsal."
        )
        checks.append(LaunchCheck(words, has_fault, fix=page))
        if difference := pay_difference(panel):
            checks.append(LaunchCheck(difference, True, fix=page))
    return checks
