from django.apps import AppConfig


class FrozenPlansConfig(AppConfig):
    name = "extras.frozen_plans"
    addresses = {"studies/<slug:slug>/reports/": "extras.frozen_plans.pages"}

    def ready(self) -> None:
        from analysis.data.frozen_plan import KEEPERS
        from analysis.exports.catalogue import DOCUMENTS
        from analysis.report.rules import MORE_PARTS
        from extras.frozen_plans.pages import pages_of
        from studies import study_folder
        from studies.pages.workbench import register_pages, section_pages

        KEEPERS.add(f"{self.name}.plans:KEEPER")
        DOCUMENTS.add(f"{self.name}.files:PLAN", f"{self.name}.files:DEVIATIONS")
        MORE_PARTS["methods"].add(f"{self.name}.registration:PART")
        study_folder.MORE.add(f"{self.name}.files:STUDY_FILE", after="wordings")
        section_pages.register(pages_of)
        register_pages("report", "frozen_plans:")
