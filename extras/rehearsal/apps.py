from django.apps import AppConfig


class RehearsalConfig(AppConfig):
    name = "extras.rehearsal"
    addresses = {"studies/<slug:slug>/people/prolific/dry-run/": "extras.rehearsal.pages"}

    def ready(self) -> None:
        from annotation.prolific.launch.launch import TRIALS
        from studies.pages.workbench import register_pages

        TRIALS.add(f"{self.name}.pages:TRIAL")
        register_pages("annotators", "rehearsal:")
