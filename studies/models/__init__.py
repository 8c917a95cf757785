"""Studies, their personas and their items."""

from studies.models.installation import (
    Backup,
    FilesLocation,
    Heartbeat,
    SecondStep,
    SignIn,
)
from studies.models.items import (
    Choice,
    FeatureSet,
    ImportJob,
    Item,
    Persona,
    Side,
    Upload,
)
from studies.models.keys import export_key, public_id, shuffle_key, study_seed
from studies.models.studies import (
    AccessToken,
    Membership,
    RemovedPerson,
    Retention,
    Study,
    StudyLog,
    Task,
    TeamInvitation,
)

__all__ = [
    "AccessToken",
    "Backup",
    "Choice",
    "FeatureSet",
    "FilesLocation",
    "Heartbeat",
    "ImportJob",
    "Item",
    "Membership",
    "Persona",
    "RemovedPerson",
    "Retention",
    "SecondStep",
    "Side",
    "SignIn",
    "Study",
    "StudyLog",
    "Task",
    "TeamInvitation",
    "Upload",
    "export_key",
    "public_id",
    "shuffle_key",
    "study_seed",
]
