from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation.researchers import workbench
        from studies.services import item_preview

        workbench.register()
        item_preview.register("annotation.participants.preview.unsaved_item")
