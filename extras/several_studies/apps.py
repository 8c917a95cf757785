from django.apps import AppConfig


class SeveralStudiesConfig(AppConfig):
    name = "extras.several_studies"
    addresses = {"several-studies/": "extras.several_studies.urls"}

    def ready(self) -> None:
        from analysis.report import rules
        from config.operations.stored_files import MORE as FILES
        from extras.several_studies.building import content_of, delete_files
        from studies import held_copies
        from studies.pages.workbench import LIST_PARTS
        from studies.services import whole_studies

        FILES.add(f"{self.name}.building:FILES")
        held_copies.MORE.add(f"{self.name}.building:HELD")
        rules.SEVERAL_STUDIES.add(f"{self.name}.commands:SEVERAL")
        LIST_PARTS.add(f"{self.name}.views:LINK")
        whole_studies.register_content(content_of)
        whole_studies.register_remover(delete_files)
