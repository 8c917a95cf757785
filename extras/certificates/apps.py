from django.apps import AppConfig

# Why a number of the chapter is undefined.
_REASONS = {
    "is_certified": "it is certified",
    "not_labelled": "it was not used to label items",
    "no_number_is_enough": "no number of labels would be enough at the observed error",
}


class CertificatesConfig(AppConfig):
    name = "extras.certificates"
    addresses = {"studies/<slug:slug>/certificates/": "extras.certificates.urls"}

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.report import rules
        from analysis.report.words import REASONS
        from extras.certificates import views

        REASONS.update(_REASONS)
        READERS.add(f"{self.name}.computed:CERTIFICATES")
        rules.MORE_CHAPTERS.add(f"{self.name}.chapter:CERTIFICATES", after="bias")
        parts = rules.MORE_PARTS["certainty"]
        parts.add(f"{self.name}.certified:SIGNALS_SHOWN", after="high_sets")
        parts.add(f"{self.name}.certified:CERTIFIED")
        views.register()
