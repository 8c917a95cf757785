from django.apps import AppConfig


class ProlificLedgerConfig(AppConfig):
    name = "extras.prolific_ledger"
    addresses = {"studies/<slug:slug>/people/prolific/money/": "extras.prolific_ledger.pages"}

    def ready(self) -> None:
        from annotation.prolific.additions import ACTIONS, PARTS
        from studies.pages.workbench import register_pages

        ACTIONS.add(f"{self.name}.pages:LEDGER")
        PARTS.add(f"{self.name}.pages:HOME_LINK", f"{self.name}.pages:SETTLE_LINK")
        register_pages("annotators", "prolific_ledger:")
