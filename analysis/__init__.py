import os

# OpenBLAS splits sums over its threads, so the last digits would depend on the machine's number of
# threads, which also cost more than they save. NumPy reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
