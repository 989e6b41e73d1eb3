"""Measurements of sdgm: ``python -m benchmarks`` lists them, with a NAME it runs one.

A benchmark is a module, or a package, that declares a `runner.Benchmark`: the cells to measure, a
function that measures one of them in a process of its own, and a function that writes the page.
"""
