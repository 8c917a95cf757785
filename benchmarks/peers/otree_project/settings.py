"""An oTree project with one app: 30 items, each with two responses, a choice and a certainty."""

SESSION_CONFIGS = [{"name": "bench", "app_sequence": ["annotate"], "num_demo_participants": 1}]
SESSION_CONFIG_DEFAULTS = {"real_world_currency_per_point": 1.0, "participation_fee": 0.0}
PARTICIPANT_FIELDS = []
SESSION_FIELDS = []
LANGUAGE_CODE = "en"
REAL_WORLD_CURRENCY_CODE = "USD"
USE_POINTS = False
ADMIN_USERNAME = "admin"
SECRET_KEY = "benchmark"  # noqa: S105
