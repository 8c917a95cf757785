"""Which files a study has, what is deleted with it, and what must go before the extra does."""

from collections.abc import Iterator

from config.operations.stored_files import FileWithSum, KindOfFiles
from extras.media.models import MediaFile
from extras.media.storage import KIND, folder_of, stored_file
from studies.models import Study
from studies.services.whole_studies import StudyContent


def _sums() -> Iterator[FileWithSum]:
    for file in MediaFile.objects.select_related("study").order_by("pk").iterator():
        yield FileWithSum(stored_file(file), file.sha256, file.study.slug)


KIND_OF_FILES = KindOfFiles(KIND, "Pictures, sounds and films of items", (MediaFile,), _sums)


def content_of(study: Study) -> StudyContent:
    files = list(MediaFile.objects.filter(study=study))
    counts = [("pictures, sounds and films", len(files))] if files else []
    return StudyContent(counts, folders=[folder_of(file) for file in files])


def needed(study: Study) -> Iterator[str]:
    """What has to end before pictures, sounds and films can be turned off."""
    if MediaFile.objects.filter(study=study).exists():
        yield "Items show pictures, sounds or films. Delete or replace these items first."
