"""Studies, the personas that they are about, and their items."""

from studies.models.backups import Backup
from studies.models.files import FilesLocation, StoredBlock, StoredFile
from studies.models.heartbeats import Heartbeat
from studies.models.imports import ImportJob, Upload
from studies.models.items import Choice, FeatureSet, Item, Persona, Side
from studies.models.keys import export_key, public_id, shuffle_key, study_seed
from studies.models.media import MediaFile
from studies.models.removed_people import RemovedPerson
from studies.models.retention import Retention
from studies.models.second_steps import SecondStep
from studies.models.sign_ins import SignIn
from studies.models.studies import Membership, Study, StudyLog, Task
from studies.models.team import AccessToken, Invitation

__all__ = [
    "AccessToken",
    "Backup",
    "Choice",
    "FeatureSet",
    "FilesLocation",
    "Heartbeat",
    "ImportJob",
    "Invitation",
    "Item",
    "MediaFile",
    "Membership",
    "Persona",
    "RemovedPerson",
    "Retention",
    "SecondStep",
    "Side",
    "SignIn",
    "StoredBlock",
    "StoredFile",
    "Study",
    "StudyLog",
    "Task",
    "Upload",
    "export_key",
    "public_id",
    "shuffle_key",
    "study_seed",
]
