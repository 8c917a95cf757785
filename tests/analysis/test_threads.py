"""Sums must not depend on the cores of the machine that computes them."""

import subprocess
import sys


def test_a_process_that_imports_the_statistics_adds_with_one_thread():
    code = "import analysis.stats, os; print(os.environ['OPENBLAS_NUM_THREADS'])"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "1"
