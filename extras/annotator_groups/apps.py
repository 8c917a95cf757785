from django.apps import AppConfig


class AnnotatorGroupsConfig(AppConfig):
    name = "extras.annotator_groups"

    def ready(self) -> None:
        from analysis.report.report_json import WITHOUT_PEOPLE
        from analysis.report.rules import MORE_PARTS

        MORE_PARTS["groups"].add(
            "extras.annotator_groups.groups:CROSS_GROUPS",
            "extras.annotator_groups.groups:CHARACTERISTICS",
        )
        WITHOUT_PEOPLE["who_judges_whom"] = "extras.annotator_groups.groups:without_small_groups"
