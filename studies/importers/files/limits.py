"""Limits on the size of a file. Each is far above what a study needs.

They protect against files that were made by mistake, or to keep a machine busy.
"""

MAX_BYTES = 200 * 1024 * 1024  # of one file, unpacked
MAX_UNPACKED = 500 * 1024 * 1024  # of all files in a zip together
MAX_MEMBERS = 10_000  # files in a zip
MAX_DIRECTORY = 4 * 1024 * 1024  # bytes of the list of files in a zip
MAX_LINES = 1_000_000
MAX_ROW = 2_000_000  # bytes of one line of JSON, or of one row of CSV
MAX_CELL = 1_000_000  # characters
MAX_COLUMNS = 1_000
MAX_VALUES = 50_000  # of one line of JSON: what is between commas, lists and objects
MAX_DOCUMENT = 48 * 1024 * 1024  # bytes of a whole file of JSON, which is held in memory
MAX_DOCUMENT_VALUES = 3_000_000  # of it: its commas, lists and objects
MAX_FILE_VALUES = 80_000_000  # of all lines of a file; a list or an object counts eight times
MAX_PACKED_BYTES = 100 * 1024 * 1024  # unpacked, of a Parquet file, and 20 times its own
MAX_PACKED_VALUES = 2_000_000  # of a Parquet file, and four more for each of its bytes
MAX_DEPTH = 32  # nesting of objects and lists
MAX_FAULTS = 1_000  # reading stops after this number
MAX_FAULTS_OF_A_ROW = 100
MAX_PAIRS = 1_000_000  # pairs of essays, or of people, that an importer compares
MAX_NOTED_KEYS = 100  # keys that are not part of the format, each reported once
