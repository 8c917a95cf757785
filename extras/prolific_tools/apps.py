from django.apps import AppConfig


class ProlificToolsConfig(AppConfig):
    name = "extras.prolific_tools"
    addresses = {"studies/<slug:slug>/people/prolific/": "extras.prolific_tools.urls"}

    def ready(self) -> None:
        from annotation.prolific import additions
        from annotation.prolific.launch.launch import TRIALS
        from annotation.prolific.settle import proposals
        from annotation.services import endings
        from studies import held_copies
        from studies.pages.workbench import register_pages

        additions.ACTIONS.add(
            f"{self.name}.walkthrough:WALK",
            f"{self.name}.ledger_page:LEDGER",
            f"{self.name}.demographics_page:DEMOGRAPHICS",
        )
        additions.PARTS.add(
            f"{self.name}.filters_page:LINK",
            f"{self.name}.ledger_page:HOME_LINK",
            f"{self.name}.ledger_page:SETTLE_LINK",
            f"{self.name}.walkthrough:PANEL",
        )
        TRIALS.add(f"{self.name}.dry_run_page:TRIAL")
        proposals.PARTS.add(f"{self.name}.demographics_page:PART")
        endings.MORE.add(f"{self.name}.forgetting:AT_END")
        held_copies.MORE.add(f"{self.name}.forgetting:HELD")
        register_pages("annotators", "prolific_tools:")
