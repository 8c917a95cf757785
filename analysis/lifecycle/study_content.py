"""Reports and exports of a study, for deleting the whole study."""

from analysis.exports.delivery.storage import folder_of as export_folder
from analysis.lifecycle.parameters import folder_of as report_folder
from analysis.models import Export, Report
from studies.jobs.models import Job
from studies.models.studies import Study
from studies.services.whole_studies.removal import StudyContent


def content_of(study: Study) -> StudyContent:
    reports, exports = Report.objects.filter(study=study), Export.objects.filter(study=study)
    obstacles = []
    if any(jobs.filter(state__in=Job.OPEN).exists() for jobs in (reports, exports)):
        obstacles.append("A report or an export is being made. Wait until it has ended.")
    folders = [report_folder(report) for report in reports.only("public_id")]
    folders += [export_folder(export) for export in exports.only("public_id")]
    counts = [("reports", reports.count()), ("exports", exports.count())]
    return StudyContent(counts, obstacles, folders)
