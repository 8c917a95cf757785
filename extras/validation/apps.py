from django.apps import AppConfig


class ValidationConfig(AppConfig):
    name = "extras.validation"
    addresses = {"studies/<slug:slug>/judges/": "extras.validation.urls"}

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.report.rules import MORE_CHAPTERS, MORE_PAGES
        from analysis.report.words import REASONS
        from extras.validation import asking
        from judging.bias import probe_choices

        REASONS["not_repeated"] = "no item was read twice in one wording and order"
        REASONS["not_both_orders"] = "no item was read in both orders"
        REASONS["few_wordings"] = "fewer than three wordings"
        READERS.add(f"{self.name}.datasheet:SPEEDS", f"{self.name}.linked_signal:LINKED")
        MORE_CHAPTERS.add(f"{self.name}.chapter:CHAPTER", after="bias")
        MORE_CHAPTERS.add(f"{self.name}.datasheet:DATASHEETS", after="bias")
        MORE_PAGES.add(f"{self.name}.page:VALIDATION")
        names = ("IDENTICAL", "EMPTY", "OTHER_PERSONA")
        probe_choices.MORE.add(*(f"{self.name}.probes:{name}" for name in names))
        asking.register()
