from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation.files.study_parts import Comprehension, Quotas
        from annotation.prolific.launch.publication import follow_state
        from annotation.researchers import workbench
        from annotation.researchers.setup import workbench as texts
        from annotation.services import study_copies
        from studies.services import studies
        from studies.services.items import item_preview
        from studies.services.whole_studies import copies, removal, shown_people
        from studies.study_files import parts

        copies.register(study_copies.copy_questions)
        removal.register(study_copies.content_of)
        shown_people.register(study_copies.wait_for_answers)
        parts.register(Quotas())
        parts.register(Comprehension())
        studies.follow_state(follow_state)
        workbench.register()
        texts.register()
        item_preview.register("annotation.participants.preview.unsaved_item")
