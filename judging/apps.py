from django.apps import AppConfig


class JudgingConfig(AppConfig):
    name = "judging"

    def ready(self) -> None:
        from judging.catalog.access import judges_of_a_member
        from judging.catalog.changes import copy_judges
        from judging.pages import workbench
        from judging.runs.study_content import (
            asked_items,
            content_of,
            judges_of,
            remove_judgments,
            texts_to_judges,
        )
        from judging.wordings import copy_wordings
        from studies.services import items, studies, whole_studies
        from studies.services.accounts import team

        whole_studies.register_copier(copy_wordings)
        whole_studies.register_copier(copy_judges)
        studies.register_launch_checks(judges_of)
        studies.register_launch_checks(texts_to_judges)
        whole_studies.register_content(content_of)
        whole_studies.register_remover(remove_judgments)
        items.register_viewers(asked_items)
        team.register(judges_of_a_member)
        workbench.register()
