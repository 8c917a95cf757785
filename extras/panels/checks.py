"""What to see to before people of panels come: launch checks, and pay that differs."""

from django.urls import reverse

from extras.panels.models import Panel
from extras.panels.rehearsal import rehearse
from studies.models import Study
from studies.money import format_money
from studies.services.studies import LaunchCheck


def pay_difference(panel: Panel) -> str:
    """How the pay of a panel differs from what the consent promises; empty if it does not."""
    study = panel.study
    if panel.reward == study.reward:
        return ""
    paid, promised = (format_money(pay, study.currency) for pay in (panel.reward, study.reward))
    return (
        f"Panel “{panel.title}” pays {paid}, and the consent promises {promised}. Make them the "
        "same, or write a consent text that names what people of each panel get."
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
