from django.apps import AppConfig


class JudgingConfig(AppConfig):
    name = "judging"

    def ready(self) -> None:
        from judging.pages import workbench
        from judging.runs.launch_checks import judges_of
        from judging.runs.study_content import content_of
        from studies.services import launch_checks, removal

        launch_checks.register(judges_of)
        removal.register(content_of)
        workbench.register()
