from django.apps import AppConfig


class JudgingConfig(AppConfig):
    name = "judging"

    def ready(self) -> None:
        from judging.catalog.study_part import Judges, copy_judges
        from judging.pages import workbench
        from judging.runs.launch_checks import judges_of, texts_to_judges
        from judging.runs.removed_items import remove_judgments
        from judging.runs.study_content import content_of
        from judging.wordings.study_part import Wordings
        from judging.wordings.versions import copy_wordings
        from studies.services import launch_checks
        from studies.services.whole_studies import copies, removal, shown_people
        from studies.study_files import parts

        copies.register(copy_wordings)
        copies.register(copy_judges)
        launch_checks.register(judges_of)
        launch_checks.register(texts_to_judges)
        parts.register(Judges())
        parts.register(Wordings())
        removal.register(content_of)
        shown_people.register(remove_judgments)
        workbench.register()
