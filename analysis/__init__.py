import os

# A sum that OpenBLAS splits over its threads depends on their number, so the same data would give
# other last digits on another machine; and its threads cost more than they save. NumPy reads this
# when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
