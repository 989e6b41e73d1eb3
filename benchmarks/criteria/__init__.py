"""Which criterion, computed on the training rows, chooses settings well: a study.

Run ``python -m benchmarks.criteria`` from the root of the repository. `problems` has data and
candidates, `laplace` and `validation` the criteria, `starts` the second question (starts and moves
of components), `choices` what each criterion chooses, `page` writes the result.
"""
