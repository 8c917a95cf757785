from django.apps import AppConfig


class VerificationConfig(AppConfig):
    name = "extras.verification"
    addresses = {
        "studies/<slug:slug>/reports/compare/": "extras.verification.comparison",
        "studies/<slug:slug>/reports/<str:public_id>/verify/": "extras.verification.urls",
    }

    def ready(self) -> None:
        from analysis.pages.workbench import REPORT_PARTS
        from studies import held_copies
        from studies.pages.workbench import register_pages

        REPORT_PARTS.add(f"{self.name}.views:PART")
        held_copies.MORE.add(f"{self.name}.rechecks:HELD")
        register_pages("report", "verification:", "comparison:")
