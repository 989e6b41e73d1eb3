"""Timings of sdgm: against its peers, of prediction, and as problems grow.

Run ``python -m benchmarks`` from the root of the repository. Four steps, each of its own: run (in
child processes), collect (JSON lines), plot, write the page.
"""
