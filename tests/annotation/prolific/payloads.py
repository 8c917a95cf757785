"""A study as it is sent to Prolific, for tests of the client alone."""

from typing import Any


def study_payload(**overrides: Any) -> dict[str, Any]:
    query = "&".join(f"{n}={{{{%{n}%}}}}" for n in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"))
    return {
        "name": "A study",
        "internal_name": "a-study",
        "description": "<p>Read and choose.</p>",
        "external_study_url": f"https://example.org/s/a/?{query}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            {
                "code": "DONE1234",
                "code_type": "COMPLETED",
                "actions": [{"action": "MANUALLY_REVIEW"}],
            }
        ],
        "total_available_places": 4,
        "estimated_completion_time": 20,
        "reward": 450,
    } | overrides
