from django.apps import AppConfig


class OwnAnswersConfig(AppConfig):
    name = "extras.own_answers"
    addresses = {
        "s/<slug:slug>/": "extras.own_answers.urls",
        "studies/<slug:slug>/people/": "extras.own_answers.researcher_urls",
    }

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.exports.tables import catalogue
        from analysis.report import chapters
        from annotation.participants.added_steps import AGAIN, NOTES, STEPS
        from annotation.services import endings
        from extras.own_answers import workbench
        from studies.services.whole_studies import removal

        READERS.add(f"{self.name}.answers_twice:RETESTS")
        chapters.MORE.add(f"{self.name}.chapter:CHAPTER", after="disagreement")
        catalogue.MORE.add(f"{self.name}.export:SECOND_VISITS")
        endings.MORE.add(f"{self.name}.second_visits:AT_END")
        STEPS.add(f"{self.name}.profile_pages:STEP")
        NOTES.add(f"{self.name}.second_visit_pages:NOTE", f"{self.name}.profile_pages:NOTE")
        AGAIN.add(f"{self.name}.second_visits:AGAIN")
        removal.register(workbench.content_of)
        workbench.register()
