from django.apps import AppConfig


class ProlificDemographicsConfig(AppConfig):
    name = "extras.prolific_demographics"
    addresses = {
        "studies/<slug:slug>/people/prolific/demographics/": "extras.prolific_demographics.pages"
    }

    def ready(self) -> None:
        from annotation.prolific.additions import ACTIONS
        from annotation.prolific.settle.proposals import PARTS
        from annotation.services import endings
        from studies import held_copies
        from studies.pages.workbench import register_pages

        ACTIONS.add(f"{self.name}.pages:DEMOGRAPHICS")
        PARTS.add(f"{self.name}.pages:PART")
        endings.MORE.add(f"{self.name}.forgetting:AT_END")
        held_copies.MORE.add(f"{self.name}.forgetting:HELD")
        register_pages("annotators", "prolific_demographics:")
