from django.apps import AppConfig


class JudgingConfig(AppConfig):
    name = "judging"

    def ready(self) -> None:
        from judging.runs.launch_checks import judges_of
        from studies.services.launch_checks import register

        register(judges_of)
