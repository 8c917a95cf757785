"""Tests of the sample study."""
