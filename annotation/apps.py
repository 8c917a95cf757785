from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation.files import study_parts
        from annotation.prolific.api.accounts import tokens_of_a_member
        from annotation.prolific.launch.publication import follow_state
        from annotation.researchers import text_views as texts
        from annotation.researchers import workbench
        from annotation.services.capacity import quota_in_step
        from studies.services import items, settings, studies, whole_studies
        from studies.services.accounts import team

        whole_studies.register_copier(study_parts.copy_questions)
        whole_studies.register_content(study_parts.content_of)
        whole_studies.register_remover(study_parts.wait_for_answers)
        studies.follow_state(follow_state)
        settings.LOCKS.add("annotation.content.consent_versions:PAY_LOCK")
        items.follow_seats(quota_in_step)
        team.register(tokens_of_a_member)
        workbench.register()
        texts.register()
        items.register_preview("annotation.participants.preview.unsaved_item")
