"""Many rows, many classes, many inputs: time, memory and what they grow with.

``python -m benchmarks.scale [growth|disk|dask|dual|classes|pixels|cost|report]``; see `__main__`.
"""
