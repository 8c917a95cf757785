"""Production settings, all from the environment. docs/configuration.md describes each one."""

from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from config import private_files
from config.env import (
    address,
    database,
    env,
    files,
    flag,
    folder,
    key_variables,
    mail_server,
    one_of,
    outside_extras,
    read_dotenv,
    secret_key,
    sqlite,
    whole_number,
    words,
)
from extras import NAMES, modules

BASE_DIR = Path(__file__).resolve().parent.parent.parent
read_dotenv()

# Answers, uploads and keys are private: only the user who runs this program can read its files.
private_files.create_privately()
VAR_DIR = env("VAR_DIR", cast=folder, default=BASE_DIR / "var", parse_default=True)
private_files.close(VAR_DIR)
PUBLIC_BASE_URL = env(
    "PUBLIC_BASE_URL", cast=address("http", "https"), default="http://localhost:8000"
).rstrip("/")
_public = urlsplit(PUBLIC_BASE_URL)
_https = _public.scheme == "https"

# The embedded default is one machine: SQLite, a broker in a folder, pages for this machine only.
# Setting a database or a public address makes it a server, which needs secrets.
EMBEDDED = not env.str("DATABASE_URL", default="") and not _https
SECRET_KEY = secret_key(embedded=EMBEDDED, path=VAR_DIR / "secret_key")
DEBUG = env("DEBUG", cast=flag, default=False)
ALLOWED_HOSTS = env.list(
    "ALLOWED_HOSTS",
    cast=str.strip,
    default=list(dict.fromkeys([_public.hostname or "", "localhost", "127.0.0.1", "[::1]"])),
)
CSRF_TRUSTED_ORIGINS = env.list(
    "CSRF_TRUSTED_ORIGINS", cast=str.strip, default=[PUBLIC_BASE_URL] if _https else []
)

# Extras that this installation does not have, although they are in the folder.
EXTRAS_LEFT_OUT = env("EXTRAS_LEFT_OUT", cast=words, default=[])
if _unknown := sorted({*EXTRAS_LEFT_OUT}.difference(NAMES)):
    raise ImproperlyConfigured(
        f"EXTRAS_LEFT_OUT: there is no extra “{_unknown[0]}”. Use names of: {', '.join(NAMES)}."
    )
EXTRAS = [name for name in NAMES if name not in EXTRAS_LEFT_OUT]
_packages = outside_extras()
# Manifests of the core, of the extras and of packages outside, each with its package.
MANIFESTS = [
    "config.core:CORE",
    *(f"extras.{name}.extra:EXTRA" for name in EXTRAS),
    *_packages.values(),
]
# Extras that are on in a new study; “all” for every one.
EXTRAS_OF_NEW_STUDIES = env("EXTRAS_OF_NEW_STUDIES", cast=words, default=[])
# Whether a failing extra stops a page or a report, as in tests, or only its own part.
FAILURES_OF_EXTRAS_STOP = False

INSTALLED_APPS = [
    "config.operations",
    "studies",
    "annotation",
    "judging",
    "analysis",
    "api",
    *(f"extras.{name}" for name in EXTRAS),
    *_packages,
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "config.log_lines.request_ids",
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.content_security_policy",
    "api.problems.problems_of_the_api",
    "config.arrivals.StorableText",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.Compression",
    "config.static_files.files_inside",
    "config.middleware.no_store",
    "config.middleware.Sessions",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "config.middleware.Accounts",
    "studies.pages.extra_views.PagesOfExtras",
    "config.middleware.KeptMessages",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.middleware.Gone",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        # The participants' pages, which nearly every request is for: looked for first.
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "APP_DIRS": True,
        "OPTIONS": {
            "environment": "annotation.participants.templates.environment",
            "context_processors": ["annotation.participants.templates.texts"],
        },
    },
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
DATABASES = {
    "default": env("DATABASE_URL", cast=database, default=sqlite(VAR_DIR / "thirdperson.sqlite3"))
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
] + [{"NAME": "studies.services.accounts.credentials.PasswordRules"}]
CSRF_FAILURE_VIEW = "annotation.participants.error_pages.csrf_failure"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "studies:list"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
USE_I18N = True
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(BASE_DIR / "staticfiles")))
# Where uploads, reports and exports are kept: a folder or a bucket.
FILES = env("FILES", cast=files, default="folder", parse_default=True)
if "OPTIONS" in FILES:
    FILES["OPTIONS"]["encryption"] = env.str("FILES_ENCRYPTION", default="")
STORAGES = {
    "files": FILES,
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "config.static_files.StaticFiles"},
}

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SESSION_COOKIE_HTTPONLY = True
if _https:
    # Browsers accept a cookie of this name only from this host and over HTTPS.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "no-referrer"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_SSL_REDIRECT = _https and env("SECURE_SSL_REDIRECT", cast=flag, default=True)
SECURE_HSTS_SECONDS = (
    env("SECURE_HSTS_SECONDS", cast=whole_number(0, 10**9), default=31_536_000) if _https else 0
)
# Both also affect addresses that do not belong to this installation, so each needs its own setting.
SECURE_HSTS_INCLUDE_SUBDOMAINS = _https and env(
    "SECURE_HSTS_INCLUDE_SUBDOMAINS", cast=flag, default=False
)
SECURE_HSTS_PRELOAD = _https and env("SECURE_HSTS_PRELOAD", cast=flag, default=False)
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^metrics$"]
if env("TRUST_PROXY", cast=flag, default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Without a mail server, passwords cannot be reset by e-mail, and the page says whom to ask.
EMAIL_HOST, EMAIL_TIMEOUT = "", 20
vars().update(env("EMAIL_URL", cast=mail_server, default={}))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.str("EMAIL_FROM", default=f"thirdperson@{_public.hostname}")
PASSWORD_RESET_TIMEOUT = 24 * 3600
# How many proxies before the web server add to X-Forwarded-For. Without a proxy the client controls
# the header, so it is ignored.
TRUSTED_PROXIES = env("TRUSTED_PROXIES", cast=whole_number(0, 10), default=0)
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000

CELERY_BROKER_URL = env(
    "CELERY_BROKER_URL",
    cast=address("redis", "rediss", "amqp", "amqps", "unix", "redis+socket"),
    default="",
)
if not CELERY_BROKER_URL:
    CELERY_BROKER_URL = "filesystem://"
    _queue = VAR_DIR / "queue"
    for _folder in ("messages", "processed", "control"):
        (_queue / _folder).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {
        "data_folder_in": str(_queue / "messages"),
        "data_folder_out": str(_queue / "messages"),
        "control_folder": str(_queue / "control"),
    }
else:
    # Longer than the longest task, but short enough that a killed worker's tasks return soon.
    # A host that does not answer must not hold a page or a command for minutes.
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "visibility_timeout": 900,
        "socket_connect_timeout": 1.5,
        "socket_timeout": 10,
    }
# Once more, in case the first try found that a kept connection had ended.
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.1}
# Judging waits for model servers, for hours. A separate queue keeps seats, exports and annotators
# from waiting behind it.
CELERY_TASK_QUEUES = {
    name: {"exchange": name, "routing_key": name} for name in ("celery", "judging")
}
TASKS_OF_APP = "config.celery"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A task continues without its broker: its requests are paid, and its message comes again.
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "config.celery:Schedule"
CELERY_BEAT_SCHEDULE: dict[str, dict[str, object]] = {
    "release-expired-seats": {"task": "annotation.tasks.release_expired_seats", "schedule": 60.0},
    "follow-prolific": {"task": "annotation.tasks.follow_prolific", "schedule": 60.0},
    "tidy-imports": {"task": "studies.tasks.tidy_imports", "schedule": 60.0},
    "tidy-api-requests": {"task": "api.tasks.tidy_requests", "schedule": 3600.0},
    "carry-out-retention": {
        "task": "config.operations.tasks.carry_out_retention",
        "schedule": 3600.0,
    },
    "tidy-report-jobs": {"task": "analysis.tasks.tidy_report_jobs", "schedule": 60.0},
    **{
        f"{module}.tidy": {"task": f"{module}.tidy", "schedule": 60.0}
        for module in modules("tasks", EXTRAS)
    },
}
for _module in modules("settings", EXTRAS):
    _own = vars(import_module(_module)).items()
    globals().update({name: value for name, value in _own if name.isupper()})
# How many days an export can be downloaded; one that names annotators only for a day.
EXPORT_DAYS = env("EXPORT_DAYS", cast=whole_number(1, 3650), default=14)
# Open links: how many annotators may start from one address within an hour (0: any number), and how
# long seats and quota places wait for a first answer.
LINK_STARTS_PER_HOUR = env("LINK_STARTS_PER_HOUR", cast=whole_number(0, 1_000_000), default=200)
FIRST_ANSWER_MINUTES = env("FIRST_ANSWER_MINUTES", cast=whole_number(1, 1440), default=15)
# How many requests to the API an access token may send in a minute (0: any number).
API_REQUESTS_PER_MINUTE = env(
    "API_REQUESTS_PER_MINUTE", cast=whole_number(0, 1_000_000), default=600
)
WORKER_HEARTBEAT = VAR_DIR / "worker.heartbeat"

# Judges on pages: variables that may hold a key besides JUDGE_KEY_…; whether a key can be entered;
# hosts at which editors may add judges; whether link-local addresses may be asked.
JUDGE_KEY_VARIABLES = env("JUDGE_KEY_VARIABLES", cast=key_variables, default=[])
JUDGE_STORED_KEYS = env("JUDGE_STORED_KEYS", cast=flag, default=True)
JUDGE_HOSTS = env("JUDGE_HOSTS", cast=words, default=[])
JUDGE_LINK_LOCAL = env("JUDGE_LINK_LOCAL", cast=flag, default=False)

PROLIFIC_BASE_URL = env(
    "PROLIFIC_BASE_URL",
    cast=address("http", "https"),
    default="https://api.prolific.com/api/v1/",
)
PROLIFIC_API_TOKEN = env.str("PROLIFIC_API_TOKEN", default="")
# Whether tokens of further accounts can be entered on pages.
PROLIFIC_STORED_TOKENS = env("PROLIFIC_STORED_TOKENS", cast=flag, default=True)
PROLIFIC_WEBHOOK_SECRET = env.str("PROLIFIC_WEBHOOK_SECRET", default="")
# Seconds for one answer, and for all waits between a page's attempts.
PROLIFIC_TIMEOUT, PROLIFIC_PATIENCE = 20.0, 8.0


# Keeps error pages and debug pages from showing keys that were entered in forms.
DEFAULT_EXCEPTION_REPORTER_FILTER = "config.middleware.HideAlways"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {
            "()": "config.log_lines.TextLines",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        },
        "json": {"()": "config.log_lines.JsonLines"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": env("LOG_FORMAT", cast=one_of("TEXT", "JSON"), default="TEXT").lower(),
        }
    },
    "root": {
        "handlers": ["console"],
        "level": env("LOG_LEVEL", cast=one_of("DEBUG", "INFO", "WARNING", "ERROR"), default="INFO"),
    },
    "loggers": {
        # The client logs whole requests at DEBUG and addresses at INFO, which logs must not
        # contain.
        "openai": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "httpcore2": {"level": "WARNING"},
        # This logger warns that a broker in a folder has no host name.
        "kombu.connection": {"level": "ERROR"},
        # The development server prints every path with its query, which may have a participant's
        # id. config.access logs requests without queries.
        "django.server": {"level": "WARNING"},
        "config.access": {"level": "INFO"},
        # Would log a line for every request that waits for a thread.
        "waitress.queue": {"level": "ERROR"},
    },
}
