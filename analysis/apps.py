from django.apps import AppConfig


class AnalysisConfig(AppConfig):
    name = "analysis"

    def ready(self) -> None:
        from analysis.audit.freshness import audit_for
        from analysis.lifecycle.removed_people import remove_files_and_rows
        from analysis.lifecycle.share_links import links_of_an_owner
        from analysis.lifecycle.study_content import content_of
        from analysis.lifecycle.study_part import PlanFile
        from analysis.pages import workbench
        from studies.importers import uploads
        from studies.services.accounts import team
        from studies.services.whole_studies import removal, shown_people
        from studies.study_files import parts

        parts.register(PlanFile())
        removal.register(content_of)
        team.register(links_of_an_owner)
        shown_people.register(remove_files_and_rows)
        uploads.register(audit_for)
        workbench.register()
