"""Passports: certify a judge once, let it label what its certificate allows, and recheck it.

`certifying` writes a passport, `labelling` and `routing` divide a study by it, and `rechecking`
asks its anchors again. Only `asking` starts runs.
"""
