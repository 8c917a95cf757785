from django.apps import AppConfig


class RehearsalConfig(AppConfig):
    name = "extras.rehearsal"
    addresses = {"studies/<slug:slug>/people/prolific/": "extras.rehearsal.pages"}

    def ready(self) -> None:
        from annotation.prolific.additions import ACTIONS, PARTS
        from annotation.prolific.launch.launch import TRIALS
        from studies.pages.workbench import register_pages

        TRIALS.add(f"{self.name}.pages:TRIAL")
        ACTIONS.add(f"{self.name}.walkthrough:WALK")
        PARTS.add(f"{self.name}.walkthrough:PANEL")
        register_pages("annotators", "rehearsal:")
