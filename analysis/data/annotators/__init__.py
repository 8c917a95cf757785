"""Annotators and their answers: which count, as arrays, as rows of exports, and given twice."""
