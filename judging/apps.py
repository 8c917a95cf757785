from django.apps import AppConfig


class JudgingConfig(AppConfig):
    name = "judging"

    def ready(self) -> None:
        from judging.pages import workbench
        from judging.runs.launch_checks import judges_of, texts_to_judges
        from judging.runs.study_content import content_of
        from judging.wordings.versions import copy_wordings
        from studies.services import copies, launch_checks, removal

        copies.register(copy_wordings)
        launch_checks.register(judges_of)
        launch_checks.register(texts_to_judges)
        removal.register(content_of)
        workbench.register()
