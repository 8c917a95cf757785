from django.apps import AppConfig


class OwnAnswersConfig(AppConfig):
    name = "extras.own_answers"
    addresses = {
        "s/<slug:slug>/": "extras.own_answers.urls",
        "studies/<slug:slug>/people/": "extras.own_answers.researcher_urls",
    }

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.exports import catalogue
        from analysis.report import rules
        from annotation.participants.added_steps import AGAIN, NOTES, STEPS
        from annotation.prolific.settle.proposals import FOLLOW_UPS
        from annotation.researchers.reaching import AUDIENCES
        from annotation.seats.assignment import SAME_ITEMS
        from annotation.services import endings
        from annotation.services.admission import ARRIVALS
        from extras.own_answers import bringing_back, follow_ups, linked_studies, waves
        from studies import held_copies
        from studies.models.added_settings import SECTIONS
        from studies.pages import workbench
        from studies.services import related_studies, whole_studies

        READERS.add(f"{self.name}.answers_twice:RETESTS")
        rules.MORE_CHAPTERS.add(f"{self.name}.chapter:CHAPTER", after="agreement")
        catalogue.MORE.add(f"{self.name}.second_visits:SECOND_VISITS")
        endings.MORE.add(f"{self.name}.second_visits:AT_END")
        endings.MORE.add(f"{self.name}.waves:AT_END")
        STEPS.add(f"{self.name}.profiles:STEP")
        NOTES.add(f"{self.name}.second_visits:NOTE", f"{self.name}.profiles:NOTE")
        ARRIVALS.add(f"{self.name}.waves:ARRIVAL")
        SAME_ITEMS.add(f"{self.name}.waves:SAME_ITEMS")
        NOTES.add(f"{self.name}.waves:NOTE")
        READERS.add(f"{self.name}.wave_answers:WAVES")
        rules.MORE_CHAPTERS.add(f"{self.name}.wave_chapter:CHAPTER", after="agreement")
        AGAIN.add(f"{self.name}.second_visits:AGAIN")
        FOLLOW_UPS.add(f"{self.name}.bringing_back:BACK")
        AUDIENCES.add(f"{self.name}.bringing_back:DUE")
        workbench.section_pages.register(follow_ups.section_page)
        workbench.register_pages("annotators", "own_people:")
        related_studies.register(waves.other_waves)
        related_studies.register(linked_studies.related)
        workbench.needs.register(bringing_back.reminder_needs)
        whole_studies.register_content(linked_studies.content_of)
        whole_studies.register_content(waves.content_of)
        held_copies.MORE.add(f"{self.name}.linked_studies:HELD")
        SECTIONS.add(f"{self.name}.models:SecondVisitSettings")
